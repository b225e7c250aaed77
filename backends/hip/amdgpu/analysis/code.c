/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the reachable instructions of a GPU kernel or function, and lists the instructions that a twin must
 * replace.
 * Before: the bytes of a code object.
 * After: struct hip_code has the flags of each code word, the patches, the used registers and the callees.
 * Requires: LLVM's AMDGPU disassembler (backends/hip/amdgpu/isa/disassembler.c).
 */
#include "patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/isa/disassembler.h"
#include "backends/hip/amdgpu/isa/far_jump.h"
#include "backends/hip/amdgpu/isa/flow.h"
#include "backends/hip/amdgpu/isa/mode.h"
#include "calls.h"
#include "core/model/diag.h"

#define MAX_BYTES (4u << 20) /* limit for the code of one kernel or function */
#define MID_JUMP_REASON "a branch goes to the middle of a jump"
#define PADDING 32           /* bytes after the code: LLVM's disassembler crashes if the buffer ends inside a literal */

struct reader {
	LLVMDisasmContextRef disasm;
	uint8_t *bytes; /* copy of the code, followed by PADDING zero bytes */
	size_t size;
	struct hip_code *code;
	const struct hip_isa *isa;
	uint32_t how; /* enum hip_reading */
	uint32_t start;
	uint64_t address;
	struct hip_steps steps; /* the instructions read so far, to find callees; only with HIP_READ_CALLS */
	struct hip_far_jump far;
	bool indexed;      /* the current instruction runs in the mode that indexes vector registers */
	uint32_t *pending; /* stack of offsets to read next; bit 0 of an entry: `indexed` at that offset */
	uint32_t npending, room;
	struct gpubpf_diag *diag;
};

static int refuse(struct reader *r, const char *why, uint32_t off)
{
	return gpubpf_diag_set(r->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s (at byte %u of its code)", why, off);
}

/* Checks that a second path to an instruction has the same mode as the first path: both index vector registers, or
 * neither does. */
static int check_revisit(struct reader *r, uint32_t off)
{
	if (!(r->code->words[off / 4] & HIP_WORD_INDEXED) == r->indexed)
		return refuse(r, "vector registers are indexed on some paths to an instruction, but not on all", off);
	return 0;
}

static int push_offset(struct reader *r, int64_t off)
{
	if (off < 0 || off % 4 || (uint64_t)off + 4 > r->size)
		return refuse(r, "a branch target lies outside of the code", off < 0 ? 0 : off);
	if (r->code->words[off / 4] & HIP_WORD_IN_FAR_JUMP)
		return refuse(r, MID_JUMP_REASON, off);
	if (r->code->words[off / 4] & HIP_WORD_BEGINS)
		return check_revisit(r, off);
	if (r->npending == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		uint32_t *grown = realloc(r->pending, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		r->pending = grown;
		r->room = room;
	}
	r->pending[r->npending++] = off | r->indexed;
	return 0;
}

static struct hip_patch *add_patch(struct reader *r, enum hip_patch_kind kind, uint32_t off)
{
	struct hip_code *code = r->code;
	struct hip_patch *grown = code->patches;

	if (!(code->npatches & (code->npatches - 1))) /* double the capacity if the count is a power of two */
		grown = realloc(code->patches, (code->npatches ? 2 * code->npatches : 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	code->patches = grown;
	grown[code->npatches] = (struct hip_patch){
		.kind = kind,
		.off = off,
		.address = r->address + off,
		.callee = UINT64_MAX,
		.begins_function = r->how & HIP_READ_FUNCTION && off == r->start,
	};
	return &grown[code->npatches++];
}

/* Returns where control goes after the instruction. The answer for s_setpc_b64 and s_call_b64 depends on r->how. In a
 * function, s_setpc_b64 returns or is a tail call. In a twin, stubs call probes by s_call_b64, and probes return by
 * s_setpc_b64. */
static enum hip_flow flow_in_context(const struct reader *r, const char *name)
{
	enum hip_flow flow = hip_flow_of(name);

	if (flow != HIP_UNKNOWN)
		return flow;
	if (r->how & HIP_READ_FUNCTION && !strcmp(name, "s_setpc_b64"))
		return HIP_ENDS;
	if (!(r->how & HIP_READ_TWIN))
		return HIP_UNKNOWN;
	return !strcmp(name, "s_call_b64") ? HIP_MAY_BRANCH : !strcmp(name, "s_setpc_b64") ? HIP_ENDS : HIP_UNKNOWN;
}

uint32_t hip_code_target(uint32_t off, uint32_t word)
{
	return off + 4 + 4 * (int32_t)(int16_t)word;
}

static uint32_t read_word(const struct reader *r, uint32_t off)
{
	uint32_t word;

	memcpy(&word, r->bytes + off, sizeof(word));
	return word;
}

static uint32_t find_target(const struct reader *r, uint32_t off)
{
	return hip_code_target(off, read_word(r, off));
}

/* Sets the flags of an instruction's words. Refuses overlapping instructions, because a twin could not replace them.
 * *clause is the number of instructions left in the current clause (ISA guides, "S_CLAUSE"). */
static int mark_words(struct reader *r, const char *name, uint32_t off, uint32_t size, uint32_t *clause)
{
	uint8_t *words = r->code->words + off / 4;
	bool overlaps = words[0] & HIP_WORD_INSIDE;

	words[0] |= HIP_WORD_BEGINS | (*clause ? HIP_WORD_CLAUSE : 0) | (r->indexed ? HIP_WORD_INDEXED : 0);
	if (!strcmp(name, "s_branch") || !strncmp(name, "s_cbranch_", 10))
		words[0] |= HIP_WORD_JUMPS;
	for (uint32_t i = 1; i < size / 4; i++) {
		overlaps |= words[i] & HIP_WORD_BEGINS;
		words[i] |= HIP_WORD_INSIDE;
	}
	if (!strcmp(name, "s_clause"))
		*clause = (read_word(r, off) & 63) + 1;
	else
		*clause -= *clause != 0;
	return overlaps ? refuse(r, "a branch goes to the middle of an instruction", off) : 0;
}

/* Adds a patch for a far jump, which the twin replaces by a branch. Only the first instruction of the sequence may be a
 * branch target. */
static int add_far_jump(struct reader *r, uint32_t off)
{
	struct hip_patch *patch = add_patch(r, HIP_PATCH_FAR_JUMP, off);

	if (!patch)
		return -ENOMEM;
	patch->target = r->far.to;
	for (uint32_t at = r->far.from + 4; at <= off; at += 4)
		r->code->words[at / 4] |= HIP_WORD_IN_FAR_JUMP;
	return 0;
}

/* Adds a patch for an instruction that can be a place of a probe, unless r->how excludes it. */
static int add_insn_patch(struct reader *r, const char *name, const char *operands, uint32_t off)
{
	struct hip_access accesses[HIP_MAX_ACCESSES];
	uint32_t n = hip_accesses(name, operands, accesses);
	enum hip_patch_kind kind = HIP_PATCH_ACCESS;
	struct hip_patch *patch;
	const char *why;
	bool loops = false;

	if (hip_is_wait(name, operands, &why))
		kind = HIP_PATCH_BARRIER;
	else if (!strcmp(name, "s_swappc_b64"))
		kind = HIP_PATCH_CALL;
	else if (!strcmp(name, "s_setpc_b64"))
		kind = HIP_PATCH_RETURN;
	else if (!strcmp(name, "s_clause"))
		kind = HIP_PATCH_CLAUSE;
	else if (hip_is_uniform_branch(name))
		kind = HIP_PATCH_BRANCH;
	else if (hip_narrows_exec(name, operands, &loops))
		kind = HIP_PATCH_NARROW_EXEC;
	else if (!n && !(r->how & HIP_READ_ALL) && !(r->how & HIP_READ_FUNCTION && off == r->start))
		return 0;
	else if (!n)
		kind = hip_flow_of(name) == HIP_FALLS_THROUGH ? HIP_PATCH_OTHER : HIP_PATCH_JUMP;
	patch = add_patch(r, kind, off);
	if (!patch)
		return -ENOMEM;
	patch->at_loop_end = loops;
	patch->why = why;
	if (kind == HIP_PATCH_BRANCH || kind == HIP_PATCH_JUMP)
		patch->target = find_target(r, off);
	patch->naccesses = n;
	memcpy(patch->access, accesses, n * sizeof(*accesses));
	for (uint32_t i = 0; r->indexed && i < n; i++)
		patch->access[i].why = "an access through indexed registers";
	return 0;
}

static int record_insn(struct reader *r, const char *name, const char *operands, uint32_t off)
{
	struct hip_patch *patch;

	hip_code_record_registers(r->code, name, operands);
	if (hip_changes_vectors(r->isa, name, operands))
		return refuse(r,
			      "it skips vector instructions (VSKIP), or indexes vector registers other than by "
			      "s_set_gpr_idx_on",
			      off);
	if (hip_enables_exceptions(name, operands))
		return refuse(r, "it enables arithmetic exceptions, which a probe could raise", off);
	if (!strncmp(name, "s_setreg_", 9) && strstr(operands, "SCHED_MODE"))
		return refuse(r, "it turns off the hardware's handling of hazards (SCHED_MODE), which probes need", off);
	if (r->indexed && (!strcmp(name, "s_swappc_b64") || !strcmp(name, "s_setpc_b64")))
		return refuse(r, "it calls a function, or returns, in the mode that indexes vector registers", off);

	r->code->calls |= !strncmp(name, "s_swappc_b64", 12);
	r->code->barrier |= !strncmp(name, "s_barrier", 9);
	if (!strcmp(name, "s_getpc_b64")) {
		patch = add_patch(r, HIP_PATCH_PC, off);
		if (patch && !hip_patch_read_pair(patch, operands))
			return refuse(r, "s_getpc_b64 writes to registers other than a scalar pair or VCC", off);
	} else if (!strcmp(name, "s_endpgm")) {
		patch = add_patch(r, HIP_PATCH_END, off);
	} else if (!strcmp(name, "s_sendmsg") && strstr(operands, "MSG_DEALLOC_VGPRS")) {
		patch = add_patch(r, HIP_PATCH_DEALLOC, off);
	} else {
		return r->how & HIP_READ_INSNS ? add_insn_patch(r, name, operands, off) : 0;
	}
	return patch ? 0 : -ENOMEM;
}

/* Records the size, opcode and registers of the instruction, which gpu/insn programs can read. */
static void describe(const struct reader *r, struct hip_patch *patch, uint32_t size, const char *name, const char *operands)
{
	patch->size = size;
	patch->is_insn_place = r->how & HIP_READ_ALL;
	if (r->indexed)
		patch->why = "registers are indexed";
	hip_patch_describe(patch, name, operands);
}

/* Reads instructions from an offset up to the first one after which control does not fall through. */
static int read_run(struct reader *r, uint32_t off)
{
	uint32_t clause = 0;

	r->far.matched = 0;
	while (!(r->code->words[off / 4] & HIP_WORD_BEGINS)) {
		char text[256] = "", mnemonic[64], *name = text, *operands;
		size_t n = LLVMDisasmInstruction(r->disasm, r->bytes + off, r->size + PADDING - off, off, text,
						 sizeof(text));
		uint32_t npatches = r->code->npatches;
		enum hip_flow flow;
		int64_t target;
		bool far;
		int err;

		if (!n || n > r->size - off)
			return refuse(r, "it has an unknown instruction", off);
		name += strspn(name, "\t ");
		operands = name + strcspn(name, " \t");
		snprintf(mnemonic, sizeof(mnemonic), "%.*s", (int)(operands - name), name);
		far = !(r->how & (HIP_READ_FUNCTION | HIP_READ_TWIN)) &&
		      hip_far_jump_match(&r->far, mnemonic, operands, r->bytes + off, off, n);
		flow = far ? HIP_BRANCHES : flow_in_context(r, mnemonic);
		target = far ? (int64_t)r->far.to : (int32_t)find_target(r, off);
		if (flow == HIP_UNKNOWN)
			return refuse(r, "it jumps to a computed address or ends in an unsupported way", off);
		err = mark_words(r, mnemonic, off, n, &clause);
		if (!err)
			err = far ? add_far_jump(r, off) : record_insn(r, mnemonic, operands, off);
		if (!err && r->how & HIP_READ_CALLS)
			err = hip_steps_add(&r->steps, far ? "s_branch" : mnemonic, far ? "" : operands, off, flow, target);
		if (r->code->npatches > npatches) {
			describe(r, &r->code->patches[npatches], n, mnemonic, operands);
		}
		if (!strcmp(mnemonic, "s_set_gpr_idx_on") || !strcmp(mnemonic, "s_set_gpr_idx_off"))
			r->indexed = !strcmp(mnemonic, "s_set_gpr_idx_on");
		if (off + n > r->code->size)
			r->code->size = off + n;
		if (!err && (flow == HIP_BRANCHES || flow == HIP_MAY_BRANCH))
			err = push_offset(r, target);
		if (err < 0 || flow == HIP_ENDS || flow == HIP_BRANCHES)
			return err;
		off += n;
		if (off + 4 > r->size)
			return refuse(r, "control runs past the end of the code", off);
	}
	return check_revisit(r, off);
}

static int by_offset(const void *a, const void *b)
{
	const struct hip_patch *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static int add_callee(struct hip_code *code, uint64_t callee)
{
	uint64_t *grown;

	for (uint32_t i = 0; i < code->ncallees; i++)
		if (code->callees[i] == callee)
			return 0;
	grown = realloc(code->callees, (code->ncallees + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	code->callees = grown;
	grown[code->ncallees++] = callee;
	return 0;
}

/* Returns true if the call stores its return address in two general-purpose scalar registers. */
static bool has_return_pair(const struct hip_patch *call)
{
	return call->registers[0].file == 's' && call->registers[0].n == 2 && call->registers[0].first < HIP_VCC;
}

/* Records a call, a return or a tail call. By the calling convention the return address is in s[30:31], so a jump to
 * the address in these registers is a return. */
static int record_call(struct reader *r, const struct hip_step *step, struct hip_patch *patch)
{
	if (step->flow == HIP_ENDS && step->callee == UINT64_MAX)
		return step->from == 30 && step->nfrom == 2 ? 0 : refuse(r, "it jumps to a computed address", step->off);
	if (step->callee == UINT64_MAX || (patch && step->flow != HIP_ENDS && !has_return_pair(patch))) {
		r->code->has_indirect_calls = true;
		return 0;
	}
	if (patch) {
		patch->kind = step->flow == HIP_ENDS ? HIP_PATCH_TAIL : HIP_PATCH_CALL;
		patch->callee = step->callee;
	}
	return add_callee(r->code, step->callee);
}

/* Sets the memory space of an access through a descriptor. The analysis only recognizes the descriptor of the lane's
 * private memory. */
static void set_buffer_space(struct hip_access *a, const struct hip_step *step)
{
	if (a->why || a->by != HIP_AT_BUFFER)
		return;
	if (step->is_private)
		a->spaces = GPUBPF_IN(LOCAL);
	else
		a->why = "a buffer with an unknown descriptor";
}

static int apply_step(struct reader *r, const struct hip_step *step)
{
	struct hip_patch *patch = hip_patch_at(r->code, step->off);

	if (step->what == HIP_STEP_CALL)
		return record_call(r, step, patch);
	if (step->what == HIP_STEP_BUFFER && patch && patch->kind == HIP_PATCH_ACCESS)
		set_buffer_space(&patch->access[0], step);
	if (r->how & HIP_READ_FUNCTION && step->target == r->start &&
	    (step->flow == HIP_BRANCHES || step->flow == HIP_MAY_BRANCH))
		r->code->patches[0].has_back_branch = true;
	return 0;
}

static int find_callees(struct reader *r, const struct hip_code_at *at)
{
	int err = hip_steps_follow(&r->steps, at->start, at->address, at->descriptor, at->elf);

	for (uint32_t i = 0; !err && i < r->steps.n; i++)
		err = apply_step(r, &r->steps.list[i]);
	return err;
}

static int read_all(struct reader *r, size_t start)
{
	int err = push_offset(r, start);

	while (!err && r->npending) {
		uint32_t off = r->pending[--r->npending] & ~1u;

		r->indexed = r->pending[r->npending] & 1;
		err = r->code->words[off / 4] & HIP_WORD_IN_FAR_JUMP ? refuse(r, MID_JUMP_REASON, off) : read_run(r, off);
	}
	if (!err && r->code->npatches)
		qsort(r->code->patches, r->code->npatches, sizeof(*r->code->patches), by_offset);
	return err;
}

int hip_code_read(const struct hip_isa *isa, bool wave32, uint32_t how, const struct hip_code_at *at,
		  struct hip_code *code, struct gpubpf_diag *diag)
{
	struct reader r = { .size = at->size < MAX_BYTES ? at->size & ~3ul : MAX_BYTES,
			    .code = code,
			    .isa = isa,
			    .how = how,
			    .diag = diag,
			    .start = at->start,
			    .address = at->address };
	int err = -ENOMEM;

	*code = (struct hip_code){ 0 };
	r.disasm = hip_disassembler_create(isa, wave32);
	code->words = calloc(1, r.size / 4 + 1);
	r.bytes = calloc(1, r.size + PADDING);
	if (r.bytes)
		memcpy(r.bytes, at->bytes, r.size);
	if (r.disasm && code->words && r.bytes)
		err = read_all(&r, at->start);
	if (!err && r.steps.n)
		err = find_callees(&r, at);
	if (r.disasm)
		LLVMDisasmDispose(r.disasm);
	free(r.steps.list);
	free(r.bytes);
	free(r.pending);
	if (err < 0)
		hip_code_finish(code);
	return err;
}

void hip_code_finish(struct hip_code *code)
{
	free(code->words);
	free(code->patches);
	free(code->callees);
	*code = (struct hip_code){ 0 };
}
