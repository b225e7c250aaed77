/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes places of machine code, and the context of their probes, from instruction bits. It shares no code with the
 * target under test.
 */
#ifndef GPUBPF_TESTS_CUDA_SASS_TOLD_H
#define GPUBPF_TESTS_CUDA_SASS_TOLD_H

#include "backends/cuda/sass/probe/place_values.h"
#include "backends/cuda/sass/isa/operands.h"
#include "tests/backends/cuda/sass/isa/insn.h"

static uint64_t low_half(struct sass_insn insn)
{
	return sass_encode(insn).lo;
}

/* Is it an access of global memory? Compares the full opcode. */
static bool is_global(struct sass_insn insn)
{
	static const uint16_t opcodes[] = { 0x381, 0x981, 0x386, 0x986, 0x3a8, 0x9a8, 0x3a9, 0x98e, 0x3a3, 0x9a3, 0x9a6, 0xfae, 0xdae };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		if (sass_opcode(insn) == opcodes[i])
			return true;
	return false;
}

static bool is_one_of(struct sass_insn insn, const uint16_t *operations, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((sass_opcode(insn) & 0x1ff) == operations[i])
			return true;
	return false;
}

/*
 * Is it an access without a mem place? Generic, asynchronous and wider accesses have none, although they may touch
 * global memory.
 */
static bool is_unplaced_access(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x180, 0x185, 0x18a, 0x18b, 0x1a2, 0x1b4, 0x1b5, 0x1b6, 0x1ba, 0x1bb,
					       0x1a4, 0x1a5, 0x17e, 0x17f };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

static bool is_generic(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x180, 0x185, 0x18a, 0x18b, 0x1a2 };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/*
 * Is it an access of shared or local memory? Copies count as accesses, and so do matrix and barrier operations in
 * shared memory.
 */
static bool is_shared(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x184, 0x188, 0x18c, 0x18d, 0x03b, 0x044, 0x1bd, 0x1a7, 0x1b2, 0x1b0, 0x1b4, 0x1b5, 0x1b6,
					       0x1ba, 0x1bb };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/* Is it LDGSTS, which loads from global memory and stores to shared memory? */
static bool is_copy(struct sass_insn insn)
{
	return sass_opcode(insn) == 0xfae || sass_opcode(insn) == 0xdae;
}

static bool is_local(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x183, 0x187 };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

static bool is_texture(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x160, 0x163, 0x166, 0x16c, 0x199, 0x19d };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

static bool is_near(struct sass_insn insn)
{
	return is_shared(insn) || is_local(insn);
}

struct thread {
	uint32_t r[256], u[64];
	bool p[8];
};

static uint64_t pair(const uint32_t *regs, uint32_t at, uint32_t zero)
{
	return at == zero ? 0 : regs[at] | (uint64_t)regs[at + 1] << 32;
}

/* Does it read c[0x3], through a constant operand or by LDC or a uniform form of LDC? */
static bool reads_variable(struct sass_insn insn)
{
	return sass_constant_bank(insn) == 3;
}

/* Returns the offset in the constant bank. LDC and ULDC may add a register, LDCU a uniform register. */
static uint32_t constant_of(struct sass_insn insn, const struct thread *t)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff, reg = sass_field(insn, 24, 8);
	uint32_t off = operation == 0x1ac ? sass_field(insn, 37, 17) : sass_field(insn, 38, 16);

	if (operation == 0x182)
		return off + t->r[reg];
	return off + (sass_opcode(insn) == 0xabb || (operation == 0x1ac && reg != 255) ? t->u[reg & 63] : 0);
}

/* nvdisasm prints 0x0000000804007385 ..07 as ST.E [R4+0x8], R7, and 0x0000000804007980 as LD.E R0, [R4+0x8]. */
static bool is_far_generic(struct sass_insn insn)
{
	return sass_opcode(insn) == 0x385 || (sass_opcode(insn) == 0x980 && !sass_field(insn, 91, 1));
}

/*
 * Returns the instruction's address: two registers (or two uniform registers on sm_75) plus a signed offset. The offset
 * has 24 bits, or 23 for an atomic with a descriptor from sm_100 on, or 32 for a generic access without a descriptor.
 */
static uint64_t address_of(const struct sass_code *code, struct sass_insn insn, const struct thread *t)
{
	bool store = (sass_opcode(insn) & 0x1ff) == 0x186 || (sass_opcode(insn) & 0x1ff) == 0x18e;
	bool uniform = code->arch->sm == 75 && sass_field(insn, 91, 1);
	bool shorter = code->arch->sm >= 100 && (sass_opcode(insn) == 0x9a8 || sass_opcode(insn) == 0x9a3 ||
						 sass_opcode(insn) == 0x98a || sass_opcode(insn) == 0x9a2);
	int64_t copied = (int64_t)(low_half(insn) << 20) >> 52; /* the offset of LDGSTS: 12 bits, from bit 32 on */
	bool load = (sass_opcode(insn) & 0x1ff) == 0x183 || (sass_opcode(insn) & 0x1ff) == 0x184;
	static const uint8_t shift[] = { 0, 2, 3, 4 };
	uint32_t near = (t->r[sass_field(insn, 24, 8)] << shift[sass_field(insn, 78, 2)]) +
			(uint32_t)((int64_t)low_half(insn) >> 40) +
			(sass_field(insn, 91, 1) ? t->u[sass_field(insn, load ? 32 : 64, 6)] : 0);
	int64_t off = is_copy(insn) ? copied :
		      shorter       ? (int64_t)(low_half(insn) << 1) >> 41 :
				      (int64_t)low_half(insn) >> 40;

	if (is_far_generic(insn))
		off = (int32_t)(low_half(insn) >> 32);
	if (reads_variable(insn))
		return constant_of(insn, t);
	if (is_near(insn))
		return near;
	return off + (uniform ? pair(t->u, sass_field(insn, store ? 64 : 32, 6), 63) : pair(t->r, sass_field(insn, 24, 8), 255));
}

/*
 * Returns the destination of LDGSTS: the register at bit 16, the signed 20-bit offset at bit 44, and in one form the
 * uniform register at bit 64.
 */
static uint32_t copied_to(struct sass_insn insn, const struct thread *t)
{
	return t->r[sass_field(insn, 16, 8)] + (uint32_t)((int64_t)low_half(insn) >> 44) +
	       (sass_opcode(insn) == 0xdae ? t->u[sass_field(insn, 64, 6)] : 0);
}

/* Returns the low half of the value that the instruction stores or combines. */
static uint64_t value_of(struct sass_insn insn, const struct thread *t, uint32_t bytes)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff, reg = sass_field(insn, operation == 0x1a9 || operation == 0x18d || operation == 0x18b || sass_opcode(insn) == 0x385 ? 64 : 32, 8);
	bool none = reads_variable(insn) || operation == 0x181 || operation == 0x1ae || operation == 0x180 || operation == 0x183 || operation == 0x184;
	uint64_t value = none || reg == 255 ? 0 : t->r[reg] | (bytes > 4 ? (uint64_t)t->r[reg + 1] << 32 : 0);

	return bytes < 4 ? value & ((1ull << 8 * bytes) - 1) : value;
}

#endif
