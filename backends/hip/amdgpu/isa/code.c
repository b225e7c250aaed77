/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the reachable instructions of a kernel or function, and lists those that a twin must replace.
 * Before: the bytes of a code object.
 * After: struct hip_code has the words, the patches, the used registers and the callees.
 * Requires: LLVM's AMDGPU disassembler (hip_code_init()).
 */
#include "code.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "backends/hip/amdgpu/rewrite/calls.h"
#include "core/model/diag.h"

#define MAX_BYTES (4u << 20) /* of one kernel */
#define MID_JUMP_REASON "a branch goes to the middle of a jump"
#define PADDING 32           /* LLVM's disassembler crashes on an instruction whose literal is cut off */

/* A jump beyond the range of branches, as compilers generate it: s_getpc_b64, s_add_u32 and s_addc_u32 of literals,
 * s_setpc_b64. */
struct far {
	uint32_t matched;              /* number of these instructions matched so far, in a row */
	uint32_t reg, from;        /* the first register; the offset of the first instruction */
	uint64_t to;
};

struct reader {
	LLVMDisasmContextRef disasm;
	uint8_t *bytes;            /* a copy with zeros after it */
	size_t size;
	struct hip_code *code;
	const struct hip_isa *isa;
	uint32_t how;              /* enum hip_reading */
	uint32_t start;
	uint64_t address;
	struct hip_steps steps;    /* recorded with HIP_READ_CALLS, to find callees */
	struct far far;
	bool indexed;              /* vector registers are indexed at the current instruction */
	uint32_t *pending;         /* stack of reachable offsets; lowest bit: `indexed` there */
	uint32_t npending, room;
	struct gpubpf_diag *diag;
};

static int refuse(struct reader *r, const char *why, uint32_t off)
{
	return gpubpf_diag_set(r->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s (at byte %u of its code)", why, off);
}

/* Checks an instruction that was read already when another path reaches it. */
static int check_revisit(struct reader *r, uint32_t off)
{
	if (!(r->code->words[off / 4] & HIP_WORD_INDEXED) == r->indexed)
		return refuse(r, "registers are indexed on some paths to an instruction", off);
	return 0;
}

static int push_offset(struct reader *r, int64_t off)
{
	if (off < 0 || off % 4 || (uint64_t)off + 4 > r->size)
		return refuse(r, "a branch leaves its code", off < 0 ? 0 : off);
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

	if (!(code->npatches & (code->npatches - 1))) /* doubles the room whenever the count is a power of two */
		grown = realloc(code->patches, (code->npatches ? 2 * code->npatches : 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	code->patches = grown;
	grown[code->npatches] = (struct hip_patch){
		.kind = kind, .off = off, .address = r->address + off, .callee = UINT64_MAX,
		.begins = r->how & HIP_READ_FUNCTION && off == r->start,
	};
	return &grown[code->npatches++];
}

/* Reads the two registers of an operand such as s[4:5] or vcc. */
static bool parse_pair(const char *text, struct hip_patch *patch)
{
	unsigned first, last;
	char end;

	if (sscanf(text, " s[%u:%u%c", &first, &last, &end) == 3 && last == first + 1 && end == ']' && last < 110) {
		snprintf(patch->reg[0], sizeof(patch->reg[0]), "s%u", first);
		snprintf(patch->reg[1], sizeof(patch->reg[1]), "s%u", last);
		return true;
	}
	if (strncmp(text, " vcc", 4))
		return false;
	strcpy(patch->reg[0], "vcc_lo");
	strcpy(patch->reg[1], "vcc_hi");
	return true;
}

/* Returns where control goes after an instruction (RDNA3 and CDNA2 ISA guides, "Program flow control"). */
static enum hip_flow flow_of(const char *name)
{
	static const char *const unknown[] = {
		"s_setpc_b64", "s_call_b64", "s_rfe", "s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join",
		"s_subvector_loop", "s_endpgm_", "s_alloc_vgpr",
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		if (!strncmp(name, unknown[i], strlen(unknown[i])))
			return HIP_UNKNOWN;
	if (!strcmp(name, "s_endpgm"))
		return HIP_ENDS;
	if (!strcmp(name, "s_branch"))
		return HIP_BRANCHES;
	return strncmp(name, "s_cbranch_", 10) ? HIP_FALLS_THROUGH : HIP_MAY_BRANCH;
}

/* Returns the flow in this code. Functions return, or end in a tail call. Stubs call probes at single instructions,
 * which return to them. */
static enum hip_flow flow_in_context(const struct reader *r, const char *name)
{
	enum hip_flow flow = flow_of(name);

	if (flow != HIP_UNKNOWN)
		return flow;
	if (r->how & HIP_READ_FUNCTION && !strcmp(name, "s_setpc_b64"))
		return HIP_ENDS;
	if (!(r->how & HIP_READ_TWIN))
		return HIP_UNKNOWN;
	return !strcmp(name, "s_call_b64") ? HIP_MAY_BRANCH : !strcmp(name, "s_setpc_b64") ? HIP_ENDS : HIP_UNKNOWN;
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void record_register(struct hip_code *code, struct hip_reg reg)
{
	uint32_t *end = reg.file == 'a' ? &code->accum : reg.file == 'v' ? &code->vector : &code->scalar;

	if (reg.file != 's' || reg.first < HIP_VCC)
		*end = max(*end, reg.first + reg.n);
}

static void record_registers(struct hip_code *code, const char *name, const char *operands)
{
	struct hip_reg reg;

	for (const char *at = operands; *at; at++)
		if (!isalnum(at[-1]) && at[-1] != '_' && hip_reg_read(at, &reg))
			record_register(code, reg);
	code->special |= strstr(operands, "flat_scratch") || strstr(operands, "xnack_mask");
	code->matrix |= !strncmp(name, "v_mfma_", 7) || !strncmp(name, "v_smfma", 7) || !strncmp(name, "v_wmma_", 7) ||
			!strncmp(name, "v_swmma", 7);
}

/* Returns true if lanes diverge because the instruction narrows EXEC by a condition. It does so at the top of
 * conditional code: s_and_saveexec, and v_cmpx, which does both on gfx10. It does so at a loop's end too, where it
 * removes the lanes that are done. Branches on an empty EXEC after these only skip code. An "else" selects lanes that
 * diverged before. */
static bool narrows_exec(const char *name, const char *operands, bool *loops)
{
	bool exec = !strncmp(operands, " exec", 5) && strstr(operands + 5, " exec");
	bool first = !strncmp(operands, " exec, exec,", 12) || !strncmp(operands, " exec_lo, exec_lo,", 18);

	*loops = first && (!strncmp(name, "s_andn2_b", 9) || !strncmp(name, "s_and_not1_b", 12));
	return *loops || !strncmp(name, "s_and_saveexec_b", 16) || !strncmp(name, "v_cmpx_", 7) ||
	       (exec && (!strcmp(name, "s_and_b64") || !strcmp(name, "s_and_b32")));
}

static bool is_uniform_branch(const char *name)
{
	return !strncmp(name, "s_cbranch_", 10) && strncmp(name + 10, "exec", 4);
}

/* Returns true if the instruction waits for other waves. why: the reason for which a probe cannot describe it. */
static bool is_wait(const char *name, const char *operands, const char **why)
{
	*why = NULL;
	if (!strcmp(name, "ds_gws_barrier")) {
		*why = "a barrier of the whole device";
		return true;
	}
	if (strcmp(name, "s_barrier") && strcmp(name, "s_barrier_wait"))
		return false;
	if (name[9] && strcmp(operands, " -1") && strcmp(operands, " 0xffff"))
		*why = "a barrier that is not the group's";
	return true;
}

uint32_t hip_code_target(uint32_t off, uint32_t word)
{
	return off + 4 + 4 * (int32_t)(int16_t)word;
}

static uint32_t word_at(const struct reader *r, uint32_t off)
{
	uint32_t word;

	memcpy(&word, r->bytes + off, sizeof(word));
	return word;
}

static uint32_t target_of(const struct reader *r, uint32_t off)
{
	return hip_code_target(off, word_at(r, off));
}

/* Marks an instruction's words. It refuses overlapping instructions, which a twin could not replace. clause:
 * instructions of the current clause that are still to come (ISA guides, "S_CLAUSE"). */
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
		*clause = (word_at(r, off) & 63) + 1;
	else
		*clause -= *clause != 0;
	return overlaps ? refuse(r, "a branch goes to the middle of an instruction", off) : 0;
}

static bool is_one_of(const char *name, const char *a, const char *b)
{
	return !strcmp(name, a) || !strcmp(name, b);
}

/* Returns true if the instruction adds a literal to the register, in place. */
static bool adds_to(const char *operands, uint32_t size, uint32_t reg)
{
	unsigned to, from;
	int end = 0;

	return size == 8 && sscanf(operands, " s%3u, s%3u, %n", &to, &from, &end) == 2 && end && to == reg && from == reg;
}

static bool is_pair(const char *operands, uint32_t *reg)
{
	unsigned first, last;
	int end = 0;

	if (sscanf(operands, " s[%3u:%3u]%n", &first, &last, &end) != 2 || !end || last != first + 1)
		return false;
	*reg = first;
	return true;
}

/* Returns true if the instruction is the last one of a far jump. */
static bool jumps_far(struct reader *r, const char *name, const char *operands, uint32_t off, uint32_t size)
{
	struct far *f = &r->far;
	uint32_t matched = f->matched, reg;

	if (r->how & (HIP_READ_FUNCTION | HIP_READ_TWIN) || is_one_of(name, "s_nop", "s_wait_alu") || !strcmp(name, "s_delay_alu"))
		return false;
	f->matched = 0;
	if (!strcmp(name, "s_getpc_b64") && is_pair(operands, &reg)) {
		*f = (struct far){ 1, reg, off, off + 4 };
	} else if (matched == 1 && is_one_of(name, "s_add_u32", "s_add_co_u32") && adds_to(operands, size, f->reg)) {
		f->to += word_at(r, off + 4);
		f->matched = 2;
	} else if (matched == 2 && is_one_of(name, "s_addc_u32", "s_add_co_ci_u32") && adds_to(operands, size, f->reg + 1)) {
		f->to += (uint64_t)word_at(r, off + 4) << 32;
		f->matched = 3;
	}
	return matched == 3 && !strcmp(name, "s_setpc_b64") && is_pair(operands, &reg) && reg == f->reg;
}

/* Adds a far jump, which becomes a branch in the twin. The instructions that compute its target must be reachable only
 * in a row. */
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

/* Adds a patch for an instruction at which programs can run. */
static int add_insn_patch(struct reader *r, const char *name, const char *operands, uint32_t off)
{
	struct hip_access accesses[HIP_MAX_ACCESSES];
	uint32_t n = hip_accesses(name, operands, accesses);
	enum hip_patch_kind kind = HIP_PATCH_ACCESS;
	struct hip_patch *patch;
	const char *why;
	bool loops = false;

	if (is_wait(name, operands, &why))
		kind = HIP_PATCH_BARRIER;
	else if (!strcmp(name, "s_swappc_b64"))
		kind = HIP_PATCH_CALL;
	else if (!strcmp(name, "s_setpc_b64"))
		kind = HIP_PATCH_RETURN;
	else if (!strcmp(name, "s_clause"))
		kind = HIP_PATCH_CLAUSE;
	else if (is_uniform_branch(name))
		kind = HIP_PATCH_BRANCH;
	else if (narrows_exec(name, operands, &loops))
		kind = HIP_PATCH_NARROW_EXEC;
	else if (!n && !(r->how & HIP_READ_ALL) && !(r->how & HIP_READ_FUNCTION && off == r->start))
		return 0;
	else if (!n)
		kind = flow_of(name) == HIP_FALLS_THROUGH ? HIP_PATCH_OTHER : HIP_PATCH_JUMP;
	patch = add_patch(r, kind, off);
	if (!patch)
		return -ENOMEM;
	patch->loops = loops;
	patch->why = why;
	if (kind == HIP_PATCH_BRANCH || kind == HIP_PATCH_JUMP)
		patch->target = target_of(r, off);
	patch->naccesses = n;
	memcpy(patch->access, accesses, n * sizeof(*accesses));
	for (uint32_t i = 0; r->indexed && i < n; i++)
		patch->access[i].why = "an access through indexed registers";
	return 0;
}

/* Reads the range of MODE's bits that the instruction sets, from *first to before *end. */
static bool sets_mode(const char *name, const char *operands, uint32_t *first, uint32_t *end)
{
	const char *mode = strstr(operands, "HW_REG_MODE");
	uint32_t n = 32;

	mode = mode ? mode : strstr(operands, "HW_REG_WAVE_MODE"); /* gfx12's name of the register */
	if (!mode || strncmp(name, "s_setreg_", 9))
		return false;
	*first = 0;
	sscanf(strstr(mode, "MODE"), "MODE, %u, %u", first, &n);
	*end = *first + n;
	return true;
}

/* Returns true if it skips vector instructions, or indexes registers by other means than s_set_gpr_idx_on. Both are
 * bits of MODE from 27 on (CDNA2 ISA guide, "Hardware register MODE"). */
static bool changes_vectors(const struct reader *r, const char *name, const char *operands)
{
	uint32_t first, end;

	return !strcmp(name, "s_setvskip") || (r->isa->accum && sets_mode(name, operands, &first, &end) && end > 27);
}

/* Returns true if it enables arithmetic exceptions: bits 12 to 20 of MODE, from gfx12 on a separate register (CDNA2 and
 * RDNA4 ISA guides). A probe relies on there being none. */
static bool enables_exceptions(const char *name, const char *operands)
{
	const char *value = strrchr(operands, ',');
	uint32_t first, end;

	if (!sets_mode(name, operands, &first, &end))
		return !strncmp(name, "s_setreg_", 9) && strstr(operands, "_TRAP_CTRL");
	if (!strncmp(name, "s_setreg_imm32_", 15) && value && (strtoull(value + 1, NULL, 0) << first & 0x1ff000) == 0)
		return false;
	return first < 21 && end > 12;
}

static int record_insn(struct reader *r, const char *name, const char *operands, uint32_t off)
{
	struct hip_patch *patch;

	record_registers(r->code, name, operands);
	if (changes_vectors(r, name, operands))
		return refuse(r, "it skips vector instructions, or indexes registers, in an unsupported way", off);
	if (enables_exceptions(name, operands))
		return refuse(r, "it enables arithmetic exceptions, which a probe could raise", off);
	if (!strncmp(name, "s_setreg_", 9) && strstr(operands, "SCHED_MODE"))
		return refuse(r, "it turns off the hardware's handling of hazards (SCHED_MODE), which probes need",
			      off);
	if (r->indexed && (!strcmp(name, "s_swappc_b64") || !strcmp(name, "s_setpc_b64")))
		return refuse(r, "it calls functions, or returns, while registers are indexed", off);

	r->code->calls |= !strncmp(name, "s_swappc_b64", 12);
	r->code->barrier |= !strncmp(name, "s_barrier", 9);
	if (!strcmp(name, "s_getpc_b64")) {
		patch = add_patch(r, HIP_PATCH_PC, off);
		if (patch && !parse_pair(operands, patch))
			return refuse(r, "it reads its own address in an unsupported way", off);
	} else if (!strcmp(name, "s_endpgm")) {
		patch = add_patch(r, HIP_PATCH_END, off);
	} else if (!strcmp(name, "s_sendmsg") && strstr(operands, "MSG_DEALLOC_VGPRS")) {
		patch = add_patch(r, HIP_PATCH_DEALLOC, off);
	} else {
		return r->how & HIP_READ_INSNS ? add_insn_patch(r, name, operands, off) : 0;
	}
	return patch ? 0 : -ENOMEM;
}

/* Reads a register, EXEC or M0 with which a text begins. */
static bool read_register(const char *text, struct hip_reg *reg)
{
	if (!strncmp(text, "exec", 4)) {
		*reg = (struct hip_reg){ 'e', text[4] == '_' && text[5] == 'h', text[4] == '_' ? 1 : 2 };
		return true;
	}
	*reg = (struct hip_reg){ 'm', 0, 1 };
	return (!strncmp(text, "m0", 2) && !isalnum(text[2])) || hip_reg_read(text, reg);
}

/* Records what programs at any instruction can read about it. */
static void describe(const struct reader *r, struct hip_patch *patch, const char *name, const char *operands)
{
	uint32_t n = 0;

	snprintf(patch->name, sizeof(patch->name), "%.31s", name);
	patch->any = r->how & HIP_READ_ALL;
	if (r->indexed)
		patch->why = "registers are indexed";
	for (const char *at = operands; *at && n < HIP_MAX_REGISTERS; at++)
		if (!isalnum(at[-1]) && at[-1] != '_' && read_register(at, &patch->registers[n]))
			n++;
	if (n < HIP_MAX_REGISTERS)
		patch->registers[n] = (struct hip_reg){ 0 };
}

/* Reads instructions from an offset up to the next one that does not fall through. */
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
		far = jumps_far(r, mnemonic, operands, off, n);
		flow = far ? HIP_BRANCHES : flow_in_context(r, mnemonic);
		target = far ? (int64_t)r->far.to : (int32_t)target_of(r, off);
		if (flow == HIP_UNKNOWN)
			return refuse(r, "it jumps to a computed address or ends in an unsupported way", off);
		err = mark_words(r, mnemonic, off, n, &clause);
		if (!err)
			err = far ? add_far_jump(r, off) : record_insn(r, mnemonic, operands, off);
		if (!err && r->how & HIP_READ_CALLS)
			err = hip_steps_add(&r->steps, far ? "s_branch" : mnemonic, far ? "" : operands, off, flow, target);
		if (r->code->npatches > npatches) {
			r->code->patches[npatches].size = n;
			describe(r, &r->code->patches[npatches], mnemonic, operands);
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
			return refuse(r, "control runs off its end", off);
	}
	return check_revisit(r, off);
}

struct hip_patch *hip_patch_at(const struct hip_code *code, uint32_t off)
{
	uint32_t from = 0, to = code->npatches;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (code->patches[middle].off < off)
			from = middle + 1;
		else
			to = middle;
	}
	return from < code->npatches && code->patches[from].off == off ? &code->patches[from] : NULL;
}

bool hip_patch_is_site(const struct hip_patch *patch, uint32_t i, enum gpubpf_site kind)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);

	if (kind == GPUBPF_SITE_CALL)
		return !i && patch->begins;
	if (kind == GPUBPF_SITE_CALL_EXIT)
		return !i && (patch->kind == HIP_PATCH_RETURN || patch->kind == HIP_PATCH_TAIL);
	if (gpubpf_place_has_name(kind))
		return !i && (kind == GPUBPF_SITE_INSN ? patch->any : kind == GPUBPF_SITE_LINE ? patch->file != NULL :
												  patch->mark != NULL);
	if (patch->kind == HIP_PATCH_BARRIER)
		return !i && (kind == GPUBPF_SITE_BARRIER || kind == GPUBPF_SITE_BARRIER_EXIT);
	if (patch->kind == HIP_PATCH_BRANCH || patch->kind == HIP_PATCH_NARROW_EXEC)
		return !i && kind == GPUBPF_SITE_BRANCH;
	return patch->kind == HIP_PATCH_ACCESS && i < patch->naccesses && k->spaces & patch->access[i].spaces &&
	       k->accesses >> patch->access[i].access & 1;
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

/* Returns true if the call stores its return address in two general registers. */
static bool has_return_pair(const struct hip_patch *call)
{
	return call->registers[0].file == 's' && call->registers[0].n == 2 && call->registers[0].first < HIP_VCC;
}

/* Records a call, a return or a tail call. By the calling convention the return address is in s[30:31], so a jump
 * through these registers returns. */
static int record_call(struct reader *r, const struct hip_step *step, struct hip_patch *patch)
{
	if (step->flow == HIP_ENDS && step->callee == UINT64_MAX)
		return step->from == 30 && step->nfrom == 2 ? 0 : refuse(r, "it jumps to a computed address", step->off);
	if (step->callee == UINT64_MAX || (patch && step->flow != HIP_ENDS && !has_return_pair(patch))) {
		r->code->unknown = true;
		return 0;
	}
	if (patch) {
		patch->kind = step->flow == HIP_ENDS ? HIP_PATCH_TAIL : HIP_PATCH_CALL;
		patch->callee = step->callee;
	}
	return add_callee(r->code, step->callee);
}

/* Sets the space of an access through a buffer. Only the descriptor of a lane's private memory is known. */
static void set_buffer_space(struct hip_access *a, const struct hip_step *step)
{
	if (a->why || a->by != HIP_AT_BUFFER)
		return;
	if (step->own)
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
	if (r->how & HIP_READ_FUNCTION && step->target == r->start && (step->flow == HIP_BRANCHES || step->flow == HIP_MAY_BRANCH))
		r->code->patches[0].again = true;
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

void hip_code_init(void)
{
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUDisassembler();
}

int hip_code_read(const struct hip_isa *isa, bool wave32, uint32_t how, const struct hip_code_at *at, struct hip_code *code,
		  struct gpubpf_diag *diag)
{
	struct reader r = { .size = at->size < MAX_BYTES ? at->size & ~3ul : MAX_BYTES, .code = code, .isa = isa, .how = how, .diag = diag,
			    .start = at->start, .address = at->address };
	const char *features = !isa->wave32 ? "" : wave32 ? "+wavefrontsize32" : "+wavefrontsize64";
	int err = -ENOMEM;

	*code = (struct hip_code){ 0 };
	hip_code_init();
	r.disasm = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", isa->name, features, NULL, 0, NULL, NULL);
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
