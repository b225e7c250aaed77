/* SPDX-License-Identifier: Apache-2.0 */
#include "constant.h"

#include "bits.h"
#include "effects.h"

#define OP_ULDC 0xab9
#define OP_ULDC_INDEXED 0xabb
#define OP_LDCU 0x7ac
#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)
#define WIDTH (7ull << 9)          /* bits 73..75 */
#define UNIFORM_FORM (1ull << 27)  /* bit 91 */
#define REGISTERS (1u << 9)        /* form bits of an opcode whose operands are all registers */
#define FORM (7u << 9)

static const struct operand {
	uint16_t opcode;
	uint8_t way, bytes;
} operands[] = {
#define SASS_CONSTANT(opcode, way, bytes) { opcode, SASS_CONSTANT_##way, bytes },
#include "isa.def"
};

static bool find_operand(struct sass_insn insn, struct sass_constant *k)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++)
		if (operands[i].opcode == sass_opcode(insn)) {
			k->way = operands[i].way;
			k->bytes = operands[i].bytes;
			return !sass_field(insn, 59, 3) && !(insn.operand[2].reg & SASS_URZ);
		}
	return false;
}

/* Decodes LDC, ULDC and LDCU. Returns false for other instructions, or if bits are set that this code does not know. */
static bool find_load(struct sass_insn insn, struct sass_constant *k)
{
	static const uint8_t bytes[] = { 1, 1, 2, 2, 4, 8, 16, 0 };
	bool always = insn.guard == SASS_PT;
	uint64_t rest = sass_encode(insn).hi & REST & ~WIDTH;

	k->bytes = bytes[sass_field(insn, 73, 3)];
	k->way = sass_opcode(insn) == SASS_OP_LDC ? SASS_CONSTANT_LOADED : SASS_CONSTANT_UNIFORM;
	switch (sass_opcode(insn)) {
	case SASS_OP_LDC:
		k->index = insn.operand[1].reg;
		return k->bytes && !rest && !(insn.operand[2].reg & SASS_URZ) && !sass_field(insn, 59, 5);
	case OP_ULDC_INDEXED:
		k->index = (insn.operand[1].reg & SASS_URZ);
		k->uniform_index = true;
		return always && k->bytes && rest == UNIFORM_FORM && k->index != SASS_URZ && !sass_field(insn, 22, 2) &&
		       !sass_field(insn, 30, 8) && !sass_field(insn, 59, 5);
	case OP_ULDC:
		return always && k->bytes && !rest && !sass_field(insn, 22, 16) && !sass_field(insn, 59, 5);
	case OP_LDCU:
		k->index = insn.operand[1].reg; /* RZ: no index */
		k->uniform_index = k->index != SASS_RZ;
		return always && k->bytes && rest == UNIFORM_FORM && !sass_field(insn, 22, 2) &&
		       (k->index < SASS_URZ || k->index == SASS_RZ) && !sass_field(insn, 32, 5) &&
		       !sass_field(insn, 59, 5);
	default:
		return false;
	}
}

bool sass_decode_constant_read(struct sass_insn insn, struct sass_constant *k)
{
	*k = (struct sass_constant){ .off = sass_constant_offset(insn), .index = SASS_RZ };
	if (!find_operand(insn, k) && !find_load(insn, k))
		return false;
	return k->off % k->bytes == 0;
}

struct sass_insn sass_constant_to_register(struct sass_insn insn, enum sass_constant_way way, unsigned reg)
{
	uint32_t b = insn.operand[3].reg, sign_of_b = sass_field(insn, 74, 2), sign = sass_field(insn, 62, 2);

	insn = sass_with_opcode(insn, (sass_opcode(insn) & ~FORM) | REGISTERS);
	insn = sass_with_reuse(insn, 0);
	if (sass_is_slow(insn) && !sass_boards_set(insn))
		insn = sass_with_board(insn, SASS_CONSTANT_BOARD);
	if (way == SASS_CONSTANT_B)
		return sass_with_field(insn, 32, 30, reg); /* in both forms the sign bits of B follow the field of B */
	insn = sass_with_field(sass_with_field(insn, 32, 32, b), 62, 2, sign_of_b);
	return sass_with_field(sass_with_reg(insn, 3, reg), 74, 2, sign);
}
