/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodings are from the CDNA2 and RDNA3 ISA guides, "VOP1" and "VOP3". The first source operand is in the low 9 bits
 * of the last word.
 */
#include "operands.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/hip/amdgpu/isa/access.h"
#include "backends/hip/amdgpu/isa/disassembler.h"

#define SOURCE 0x1ff
#define VECTOR 256             /* source operands from this number on are vector registers */

static const struct hip_operand operands[] = {
	{ "place", true, HIP_PLACE_ID },
	{ "line", true, HIP_LINE },
	{ "mem.addr", false, HIP_ADDR },
	{ "mem.offset", false, HIP_OFFSET },
	{ "mem.value", false, HIP_VALUE },
	{ "mem.bytes", true, HIP_BYTES },
	{ "mem.access", true, HIP_ACCESS },
	{ "mem.space", true, HIP_SPACE },
	{ "mem.count", true, HIP_COUNT },
	{ "mem.hint", true, HIP_HINT },
	{ "atomic.op", true, HIP_OP },
	{ "atomic.operand", false, HIP_OPERAND },
	{ "atomic.old", false, HIP_OLD },
	{ "barrier.id", true, HIP_BARRIER_ID },
	{ "barrier.kind", true, HIP_BARRIER_KIND },
	{ "branch.lanes", true, HIP_LANES },
	{ "branch.taken", false, HIP_TAKEN },
	{ "branch.active", true, HIP_ACTIVE },
	{ "operand", false, HIP_REGISTERS },
	{ "mark", false, HIP_MARKED },
};

const struct hip_operand *hip_operand_of(const char *field)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++)
		if (!strcmp(operands[i].field, field))
			return &operands[i];
	return NULL;
}

/* State of a pass over the instructions of a probe. The pass collects the operands that the probe reads, or rewrites
 * them. */
struct visit {
	const uint32_t *registers; /* [operand] register to read instead; NULL: do not rewrite */
	uint32_t uniform_register;
	/* bits of the operands that the probe reads: enum hip_lane_operand, enum hip_uniform_operand */
	uint32_t lane_operands, uniform_operands;
	uint32_t end; /* index of the highest vector register that is not an operand, plus one */
};

static void write_source(uint8_t *at, uint32_t reg)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	word = (word & ~SOURCE) | (VECTOR + reg);
	memcpy(at, &word, sizeof(word));
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void visit_insn(struct visit *v, const char *text, uint8_t *at, size_t n)
{
	unsigned to, from, lane;
	struct hip_reg reg;

	text += strspn(text, "\t ");
	if (sscanf(text, "v_mov_b32_e32 v%u, v%u", &to, &from) == 2 && from >= HIP_FIRST_OPERAND &&
	    from < HIP_FIRST_OPERAND + HIP_NLANE_OPERANDS) {
		v->lane_operands |= 1u << (from - HIP_FIRST_OPERAND);
		v->end = max(v->end, to + 1);
		if (v->registers)
			write_source(at, v->registers[from - HIP_FIRST_OPERAND]);
		return;
	}
	if (sscanf(text, "v_readlane_b32 %*[^,], v%u, %u", &from, &lane) == 2 && from == HIP_UNIFORM_REGISTER &&
	    lane < HIP_NUNIFORM) {
		v->uniform_operands |= 1u << lane;
		if (v->registers)
			write_source(at + n - 4, v->uniform_register);
		return;
	}
	for (text += strcspn(text, " \t"); *text; text++)
		if (!isalnum(text[-1]) && text[-1] != '_' && hip_reg_read(text, &reg) && reg.file == 'v')
			v->end = max(v->end, reg.first + reg.n);
}

static void visit_all(const struct hip_isa *isa, bool wave32, uint8_t *text, size_t size, struct visit *v)
{
	LLVMDisasmContextRef disasm = hip_disassembler_create(isa, wave32);
	char line[256];
	size_t n;

	for (size_t at = 0; disasm && at < size; at += n) {
		n = LLVMDisasmInstruction(disasm, text + at, size - at, at, line, sizeof(line));
		if (n)
			visit_insn(v, line, text + at, n);
		n = n ? n : 4;
	}
	if (disasm)
		LLVMDisasmDispose(disasm);
}

int hip_operands_read(const struct hip_isa *isa, bool wave32, const uint8_t *text, size_t size, uint32_t *lane_operands,
		      uint32_t *uniform_operands, uint32_t *vectors)
{
	struct visit v = { 0 };

	visit_all(isa, wave32, (uint8_t *)text, size, &v);
	*lane_operands = v.lane_operands;
	*uniform_operands = v.uniform_operands;
	*vectors = v.end;
	return v.end > HIP_UNIFORM_REGISTER ? -EINVAL : 0;
}

void hip_operands_place(const struct hip_isa *isa, bool wave32, uint8_t *text, size_t size,
			const uint32_t lane_reg[HIP_NLANE_OPERANDS], uint32_t uniform_reg)
{
	struct visit v = { .registers = lane_reg, .uniform_register = uniform_reg };

	visit_all(isa, wave32, text, size, &v);
}
