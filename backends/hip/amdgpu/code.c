/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include "core/diag.h"

#define MAX_BYTES (4u << 20) /* of one kernel */
#define PADDING 32           /* LLVM's disassembler dies of an instruction whose literal is cut off */

struct reader {
	LLVMDisasmContextRef disasm;
	uint8_t *bytes;            /* a copy, zeros behind it */
	size_t size;
	struct hip_code *code;
	uint8_t *seen;             /* a bit for each word */
	uint32_t *pending;         /* offsets that control reaches */
	uint32_t npending, room;
	struct gpubpf_diag *diag;
};

static int refuse(struct reader *r, const char *why, uint32_t off)
{
	return gpubpf_diag_set(r->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s (at byte %u of its code)", why, off);
}

static int push(struct reader *r, int64_t off)
{
	if (off < 0 || off % 4 || (uint64_t)off + 4 > r->size)
		return refuse(r, "control leaves its code", off < 0 ? 0 : off);
	if (r->seen[off / 32] >> (off / 4 % 8) & 1)
		return 0;
	if (r->npending == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		uint32_t *grown = realloc(r->pending, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		r->pending = grown;
		r->room = room;
	}
	r->pending[r->npending++] = off;
	return 0;
}

static struct hip_patch *add_patch(struct reader *r, enum hip_patch_kind kind, uint32_t off)
{
	struct hip_code *code = r->code;
	struct hip_patch *grown = realloc(code->patches, (code->npatches + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	code->patches = grown;
	grown[code->npatches] = (struct hip_patch){ .kind = kind, .off = off };
	return &grown[code->npatches++];
}

/* The two registers of an operand like s[4:5] or vcc. */
static bool pair(const char *text, struct hip_patch *patch)
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

enum flow { GOES_ON, BRANCHES, MAY_BRANCH, ENDS, UNKNOWN };

/* where control goes after an instruction (RDNA3 and CDNA2 ISA guides, "Program flow control") */
static enum flow flow_of(const char *name)
{
	static const char *const unknown[] = {
		"s_setpc_b64", "s_call_b64", "s_rfe", "s_cbranch_i_fork", "s_cbranch_g_fork", "s_cbranch_join",
		"s_subvector_loop", "s_endpgm_", "s_alloc_vgpr",
	};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		if (!strncmp(name, unknown[i], strlen(unknown[i])))
			return UNKNOWN;
	if (!strcmp(name, "s_endpgm"))
		return ENDS;
	if (!strcmp(name, "s_branch"))
		return BRANCHES;
	return strncmp(name, "s_cbranch_", 10) ? GOES_ON : MAY_BRANCH;
}

static int note(struct reader *r, const char *name, const char *operands, uint32_t off)
{
	struct hip_patch *patch;

	r->code->calls |= !strncmp(name, "s_swappc_b64", 12);
	r->code->barrier |= !strncmp(name, "s_barrier", 9);
	if (!strcmp(name, "s_getpc_b64")) {
		patch = add_patch(r, HIP_PATCH_PC, off);
		if (patch && !pair(operands, patch))
			return refuse(r, "it asks for its own address in an unusual way", off);
	} else if (!strcmp(name, "s_endpgm")) {
		patch = add_patch(r, HIP_PATCH_END, off);
	} else if (!strcmp(name, "s_sendmsg") && strstr(operands, "MSG_DEALLOC_VGPRS")) {
		patch = add_patch(r, HIP_PATCH_FREE, off);
	} else {
		return 0;
	}
	return patch ? 0 : -ENOMEM;
}

/* From an offset to the next instruction after which control goes elsewhere. */
static int straight(struct reader *r, uint32_t off)
{
	while (!(r->seen[off / 32] >> (off / 4 % 8) & 1)) {
		char text[256] = "", mnemonic[64], *name = text, *operands;
		size_t n = LLVMDisasmInstruction(r->disasm, r->bytes + off, r->size + PADDING - off, off, text,
						 sizeof(text));
		enum flow flow;
		uint32_t word;
		int err;

		if (!n || n > r->size - off)
			return refuse(r, "it has an instruction that is not known", off);
		r->seen[off / 32] |= 1 << (off / 4 % 8);
		memcpy(&word, r->bytes + off, sizeof(word));
		name += strspn(name, "\t ");
		operands = name + strcspn(name, " \t");
		snprintf(mnemonic, sizeof(mnemonic), "%.*s", (int)(operands - name), name);
		flow = flow_of(mnemonic);
		if (flow == UNKNOWN)
			return refuse(r, "it jumps to a computed address or ends in an unusual way", off);
		err = note(r, mnemonic, operands, off);
		if (off + n > r->code->size)
			r->code->size = off + n;
		if (!err && (flow == BRANCHES || flow == MAY_BRANCH))
			err = push(r, (int64_t)off + 4 + 4 * (int64_t)(int16_t)word);
		if (err < 0 || flow == ENDS || flow == BRANCHES)
			return err;
		off += n;
		if (off + 4 > r->size)
			return refuse(r, "control runs off its end", off);
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct hip_patch *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static int read_all(struct reader *r, size_t start)
{
	int err = push(r, start);

	while (!err && r->npending) {
		uint32_t off = r->pending[--r->npending];

		err = straight(r, off);
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

int hip_code_read(const struct hip_isa *isa, bool wave32, const uint8_t *bytes, size_t size, size_t start,
		  struct hip_code *code, struct gpubpf_diag *diag)
{
	struct reader r = { .size = size < MAX_BYTES ? size & ~3ul : MAX_BYTES, .code = code, .diag = diag };
	const char *features = !isa->wave32 ? "" : wave32 ? "+wavefrontsize32" : "+wavefrontsize64";
	int err = -ENOMEM;

	*code = (struct hip_code){ 0 };
	hip_code_init();
	r.disasm = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", isa->name, features, NULL, 0, NULL, NULL);
	r.seen = calloc(1, r.size / 32 + 1);
	r.bytes = calloc(1, r.size + PADDING);
	if (r.bytes)
		memcpy(r.bytes, bytes, r.size);
	if (r.disasm && r.seen && r.bytes)
		err = read_all(&r, start);
	if (r.disasm)
		LLVMDisasmDispose(r.disasm);
	free(r.bytes);
	free(r.seen);
	free(r.pending);
	if (err < 0)
		hip_code_finish(code);
	return err;
}

void hip_code_finish(struct hip_code *code)
{
	free(code->patches);
	*code = (struct hip_code){ 0 };
}
