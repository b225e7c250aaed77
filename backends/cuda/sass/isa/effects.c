/* SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include "bits.h"

#define OPERATION(opcode) ((opcode) & 0x1ff)
#define FORM(opcode) ((opcode) >> 9)
#define FORM_C_CONSTANT 3
#define FORM_B_CONSTANT 5
#define NOINC_AT 86                /* bit .NOINC of CALL.REL */
#define MAX_ALU_OPERATION 0x117    /* operations up to this one are arithmetic and take a constant operand in the two
                                    * forms above */

/* -- control flow -- */

bool sass_has_target(struct sass_insn insn)
{
	uint32_t opcode = sass_opcode(insn);

	if (opcode == SASS_OP_WARPSYNC_LANES) /* WARPSYNC of the lanes in a register: only .COLLECTIVE has a target */
		return sass_field(insn, 86, 1);
	return opcode == SASS_OP_BRA || opcode == SASS_OP_BRA_U || opcode == SASS_OP_BSSY;
}

bool sass_is_divergent_flow(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA || sass_opcode(insn) == SASS_OP_YIELD ||
	       sass_convergence_barrier(insn) >= 0;
}

bool sass_is_lane_independent(struct sass_insn insn)
{
	switch (sass_op(insn)->class) {
	case SASS_FIXED:
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
		return sass_convergence_barrier(insn) < 0 && !sass_has(insn, SASS_EXCHANGES_LANES);
	case SASS_SYNC:
	case SASS_ASYNC:
		return sass_has(insn, SASS_INDEPENDENT);
	default:
		return false;
	}
}

bool sass_is_relative_transfer(struct sass_insn insn)
{
	static const struct {
		uint16_t opcode, rest;
	} known[] = {
		{ SASS_OP_CALL_REL, 0x78 }, { SASS_OP_CALL_REGISTER, 0x78 }, { SASS_OP_RET, 0x78 },
		{ SASS_OP_BRX, 0x70 },      { SASS_OP_BRXU, 0x170 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (insn.opcode == known[i].opcode)
			return sass_field(insn, 83, 22) == known[i].rest;
	return false;
}

bool sass_is_plain_exit(struct sass_insn insn)
{
	struct sass_word word = sass_encode(insn);

	return (word.lo & ~0xf000ull) == SASS_OP_EXIT && !(word.hi & ((1ull << 41) - 1) & ~(15ull << 23));
}

int64_t sass_lepc_offset(struct sass_insn insn)
{
	return (int32_t)(sass_field(insn, 24, 8) | sass_field(insn, 32, 24) << 8);
}

struct sass_insn sass_call_to_branch(struct sass_insn insn)
{
	if (insn.opcode != SASS_OP_CALL_REL || !sass_field(insn, NOINC_AT, 1))
		return insn;
	return sass_with_field(sass_with_opcode(insn, SASS_OP_BRA), NOINC_AT, 1, 0);
}

unsigned sass_barriers_named(struct sass_insn insn)
{
	unsigned first = 1u << sass_field(insn, 16, 4);

	if (!sass_has(insn, SASS_NAMES_BARRIER))
		return 0;
	return sass_op(insn)->class == SASS_SLOW ? first | 1u << sass_field(insn, 24, 4) : first; /* a BMOV, of class
	                                                                                           * SLOW, may name a
	                                                                                           * barrier in
	                                                                                           * either field */
}

/* -- votes -- */

#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)
#define REDUX_OR 0x4000ull
#define R2UR_REST 0xe0000ull
#define PLOP3_FALSE 0x03f0e170ull

bool sass_is_plain_vote(struct sass_insn insn)
{
	if (insn.out != SASS_PT)
		return false;
	return insn.opcode == SASS_OP_VOTE ? sass_field(insn, 72, 2) == 1 : sass_field(insn, 79, 1);
}

bool sass_combines_masks(struct sass_insn insn)
{
	return insn.opcode == SASS_OP_REDUX && (sass_encode(insn).hi & REST) == REDUX_OR;
}

bool sass_compares_masks(struct sass_insn insn)
{
	return insn.opcode == SASS_OP_R2UR && insn.out != SASS_PT && insn.operand[0].reg == SASS_URZ;
}

struct sass_insn sass_to_lane_mask(struct sass_insn insn)
{
	bool mask = insn.opcode == SASS_OP_REDUX;
	struct sass_word w = sass_encode(insn);
	struct sass_insn alone;

	w.lo = (mask ? w.lo & ~0xfffull : 0) | (mask ? SASS_OP_R2UR : SASS_OP_PLOP3) | (w.lo & 0xf000);
	w.hi = (w.hi & ~REST) | (mask ? R2UR_REST : PLOP3_FALSE);
	alone = sass_decode(w);
	alone.at = insn.at;
	return mask ? alone : sass_with_out(alone, insn.out);
}

/* -- memory -- */

bool sass_has_effect(struct sass_insn insn)
{
	enum sass_class class = sass_op(insn)->class;

	return (class == SASS_LOAD || class == SASS_STORE || class == SASS_ASYNC) && !sass_has(insn, SASS_OWN_MEMORY);
}

bool sass_is_count_insn(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_STS || sass_opcode(insn) == SASS_OP_ATOMS || sass_opcode(insn) == SASS_OP_BAR;
}

bool sass_reads_shared_size(struct sass_insn insn)
{
	return sass_has(insn, SASS_READS_SPECIAL) && sass_special_register(insn) == SASS_SR_SHARED_SIZE;
}

/* -- constants -- */

int sass_constant_bank(struct sass_insn insn)
{
	uint32_t op = OPERATION(sass_opcode(insn)), form = FORM(sass_opcode(insn));
	bool operand = op <= MAX_ALU_OPERATION && (form == FORM_C_CONSTANT || form == FORM_B_CONSTANT);

	if (!operand && op != SASS_OPERATION_LDC && op != SASS_OPERATION_LDCU)
		return -1;
	return sass_field(insn, 54, 5);
}

uint64_t sass_constant_offset(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_LDCU) ? sass_field(insn, 37, 17) : sass_field(insn, 38, 16);
}

bool sass_is_constant_move(struct sass_insn insn, uint32_t *number)
{
	bool product = (insn.opcode == 0x424 || insn.opcode == 0x435) && insn.operand[1].reg == SASS_RZ &&
		       insn.operand[3].reg == SASS_RZ;

	*number = sass_immediate(insn);
	return (insn.opcode == 0x802 || product) && insn.guard == SASS_PT;
}

/* Recognizes a MOV of all bytes, and IMAD.MOV.U32. */
int sass_copied_operand(struct sass_insn insn)
{
	uint64_t rest = sass_encode(insn).hi & REST;

	if (insn.opcode == 0x202 && rest == 0xf00 && insn.operand[2].reg != SASS_RZ)
		return 2;
	if (insn.opcode == 0x224 && insn.operand[1].reg == SASS_RZ && insn.operand[2].reg == SASS_RZ &&
	    (rest & ~0xffull) == 0x078e0000 && insn.operand[3].reg != SASS_RZ)
		return 3;
	return -1;
}

bool sass_is_partial_move(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_MOV) && sass_field(insn, 72, 4) != 0xf;
}

/* -- barriers of the block -- */

unsigned sass_block_barrier(struct sass_insn insn)
{
	return sass_field(insn, 54, 4);
}

#define BAR_ARRIVE 1               /* bits 77, 78 of BAR: .SYNC, .ARV, .RED, .SCAN */

bool sass_is_arrival(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_BAR) && sass_field(insn, 77, 2) == BAR_ARRIVE;
}
