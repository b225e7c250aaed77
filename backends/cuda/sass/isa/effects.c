/* SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#define OPERATION(opcode) ((opcode) & 0x1ff)
#define FORM(opcode) ((opcode) >> 9)
#define FORM_C_CONSTANT 3
#define FORM_B_CONSTANT 5
#define MAX_ALU_OPERATION 0x117    /* operations up to this one are arithmetic and take a constant operand in the two
                                    * forms above */
#define OP_CS2R 0x005              /* operations */
#define OP_S2R 0x119
#define OP_LDC 0x182
#define OP_LDCU 0x1ac
#define OP_S2UR 0x1c3

/* -- control flow -- */

bool sass_has_target(struct sass_insn insn)
{
	uint32_t opcode = sass_opcode(insn);

	if (opcode == 0x348) /* WARPSYNC of the lanes in a register: only .COLLECTIVE has a target */
		return sass_field(insn, 86, 1);
	return opcode == SASS_OP_BRA || opcode == SASS_OP_BRA_U || opcode == SASS_OP_BSSY;
}

bool sass_is_divergent_flow(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA || sass_opcode(insn) == SASS_OP_YIELD || sass_barrier_at(insn);
}

bool sass_is_lane_independent(struct sass_insn insn)
{
	switch (sass_opcode(insn) & 0x1ff) {
	case 0x189:
	case 0x1a1:
	case 0x1c4:
	case 0x02f: /* SHFL, MATCH, REDUX, ELECT */
		return false;
	default:
		break;
	}
	switch (sass_op_find(sass_opcode(insn))->class) {
	case SASS_FIXED:
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
		return !sass_barrier_at(insn);
	case SASS_SYNC: /* NOP, MEMBAR, ERRBAR */
		return (sass_opcode(insn) & 0x1ff) == 0x118 || (sass_opcode(insn) & 0x1ff) == 0x192 ||
		       (sass_opcode(insn) & 0x1ff) == 0x1ab;
	case SASS_ASYNC: /* CCTL */
		return (sass_opcode(insn) & 0x1ff) == 0x18f;
	default:
		return false;
	}
}

/* -- memory -- */

bool sass_has_effect(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;
	enum sass_class class = sass_op_find(operation)->class;
	bool own = operation == 0x183 || operation == 0x187; /* LDL, STL */

	return (class == SASS_LOAD || class == SASS_STORE || class == SASS_ASYNC) && !own;
}

bool sass_is_count_insn(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_STS || sass_opcode(insn) == SASS_OP_ATOMS || sass_opcode(insn) == SASS_OP_BAR;
}

bool sass_reads_shared_size(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return (operation == OP_S2R || operation == OP_S2UR || operation == OP_CS2R) &&
	       sass_field(insn, 72, 8) == SASS_SR_SHARED_SIZE;
}

/* -- constants -- */

int sass_constant_bank(struct sass_insn insn)
{
	uint32_t op = OPERATION(sass_opcode(insn)), form = FORM(sass_opcode(insn));
	bool operand = op <= MAX_ALU_OPERATION && (form == FORM_C_CONSTANT || form == FORM_B_CONSTANT);

	if (!operand && op != OP_LDC && op != OP_LDCU)
		return -1;
	return sass_field(insn, 54, 5);
}

uint64_t sass_constant_offset(struct sass_insn insn)
{
	return OPERATION(sass_opcode(insn)) == OP_LDCU ? sass_field(insn, 37, 17) : sass_field(insn, 38, 16);
}
