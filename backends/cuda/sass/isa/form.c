/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include "bits.h"

const uint8_t sass_predicate_at[SASS_PREDICATE_FIELDS] = { 12, 24, 64, 68, 77, 87, 81, 84, 32 };

#define OPCODES 0x1000
#define FIRST_WIDE 120             /* from this architecture on there are 64-bit forms */
#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)

struct sass_insn sass_with_predicate(struct sass_insn insn, unsigned field, unsigned predicate)
{
	return sass_with_field(insn, sass_predicate_at[field], 3, predicate);
}

bool sass_predicate_is_negated(struct sass_insn insn, unsigned field)
{
	return sass_field(insn, sass_predicate_at[field] + 3, 1);
}

bool sass_is_and_of_predicates(struct sass_insn insn)
{
	return insn.opcode == SASS_OP_PLOP3 && sass_field(insn, 72, 5) == 0x10 && !sass_field(insn, 64, 4);
}

unsigned sass_third_predicate(struct sass_insn insn)
{
	return sass_field(insn, 68, 4);
}

struct sass_word sass_operation_bits(struct sass_insn insn, unsigned fields)
{
	const struct sass_form *form = sass_form(insn);
	struct sass_word w = sass_encode(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		if (form->operands[o] != '-')
			w = sass_word_with(w, sass_operand_at[o], 8, 0);
	for (unsigned f = 1; f < SASS_PREDICATE_FIELDS; f++)
		if (fields >> f & 1)
			w = sass_word_with(w, sass_predicate_at[f], 3, 0);
	return sass_word_with(sass_word_with(w, SASS_CONTROL_AT, 21, 0), 12, 4, 0);
}

unsigned sass_predicate_cycles(struct sass_insn insn)
{
	return SASS_PREDICATE_CYCLES + insn.wide;
}

/* The form of RED counts as uniform. sass_is_uniform() checks whether an instruction really has a uniform operand. */
const struct sass_form *sass_form_find(uint32_t opcode)
{
	return opcode < OPCODES ? sass_by_opcode[opcode].form : NULL;
}

bool sass_is_uniform(struct sass_insn insn)
{
	const struct sass_form *form = sass_form(insn);

	return form && form->becomes && (form->becomes != form->opcode || sass_field(insn, 90, 2));
}

#define ALWAYS_TRUE (1u << SASS_PT | 1u << (SASS_WARPS + SASS_PT))

bool sass_predicate_is_uniform(const struct sass_form *form, struct sass_insn insn, unsigned field)
{
	switch (form->predicates[field]) {
	case 'u':
	case 'v':
		return true;
	case 'e':
		return sass_field(insn, 67, 1);
	default:
		return false;
	}
}

static unsigned predicate_set(struct sass_insn insn, unsigned fields)
{
	const struct sass_form *form = sass_form(insn);
	unsigned set = 0;

	for (; fields; fields &= fields - 1) {
		unsigned f = __builtin_ctz(fields), p = sass_predicate(insn, f);

		if (f == SASS_P_MASK)
			set |= insn.operand[2].reg & ((1u << SASS_PT) - 1);
		else
			set |= 1u << ((form->predicates[f] == 'i' ? SASS_PT - p : p) +
				      (sass_predicate_is_uniform(form, insn, f) ? SASS_WARPS : 0));
	}
	return set & ~ALWAYS_TRUE;
}

unsigned sass_predicates_read(struct sass_insn insn)
{
	return predicate_set(insn, sass_by_opcode[sass_opcode(insn)].read);
}

unsigned sass_predicates_written(struct sass_insn insn)
{
	return predicate_set(insn, sass_by_opcode[sass_opcode(insn)].written);
}

static bool is_idle_lds(struct sass_insn insn)
{
	return insn.guard == (SASS_PT | 8) && insn.operand[0].reg == SASS_RZ && insn.operand[1].reg == SASS_RZ &&
	       !sass_field(insn, 32, 32);
}

bool sass_is_probe_insn(const struct sass_arch *arch, struct sass_insn insn)
{
	const struct sass_wide *wide = sass_wide_find(insn);

	if (!sass_form_find(sass_opcode(insn)))
		return false;
	if (wide && (arch->sm < FIRST_WIDE || (sass_encode(insn).hi & REST & ~(uint64_t)wide->either) != wide->value))
		return false;
	switch (sass_opcode(insn)) {
	case 0x235:
	case 0x835:
	case 0xc35: /* IADD; before sm_120 HFMA2.MMA */
		return wide || (arch->sm >= FIRST_WIDE && (sass_encode(insn).hi & REST & ~0x08000100ull) == 0x078e0000);
	case 0x984:
		return is_idle_lds(insn);
	case SASS_OP_STS:
	case SASS_OP_ATOMS:
	case SASS_OP_BAR: /* only the code of lane_count.h may contain these */
		return false;
	case 0x348: /* before sm_90 WARPSYNC has its register in another field */
		return arch->sm >= 90;
	case SASS_OP_BMOV_CLEAR:
		return (sass_encode(insn).hi & REST) == 0x100000;
	case SASS_OP_BMOV_FILL:
		return !(sass_encode(insn).hi & REST);
	case SASS_OP_BRA:
		return !sass_field(insn, 24, 10) && !sass_field(insn, 82, 5) && !insn.mode;
	default:
		return true;
	}
}

bool sass_is_bra_div(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA && insn.in == SASS_PT && insn.mode == 1 &&
	       sass_field(insn, 30, 4) == 8 && !sass_field(insn, 82, 5);
}

bool sass_is_slow(struct sass_insn insn)
{
	enum sass_class class = sass_op(insn)->class;
	bool none = sass_opcode(insn) == SASS_OP_BMOV_CLEAR && insn.operand[0].reg == SASS_RZ;

	return (class == SASS_SLOW && !none) || class == SASS_LOAD || class == SASS_STORE;
}

static bool is_load(struct sass_insn insn)
{
	unsigned operation = sass_opcode(insn) & 0x1ff;

	return sass_op(insn)->class == SASS_LOAD || operation == 0x184 || operation == 0x03b; /* LDS, LDSM */
}

bool sass_is_access(struct sass_insn insn)
{
	return is_load(insn) || sass_op(insn)->class == SASS_STORE;
}

/* Does the instruction read registers after issue, and write no register? */
static bool only_reads(struct sass_insn insn)
{
	return sass_op(insn)->class == SASS_STORE || sass_opcode(insn) == SASS_OP_BMOV_FILL;
}

bool sass_lacks_board(struct sass_insn insn)
{
	return sass_is_slow(insn) && sass_write_board(insn) == SASS_NO_SCOREBOARD &&
	       (!only_reads(insn) || sass_read_board(insn) == SASS_NO_SCOREBOARD);
}

struct sass_insn sass_with_board(struct sass_insn insn, unsigned board)
{
	return sass_with_field(insn, only_reads(insn) ? SASS_READ_AT : SASS_WRITE_AT, 3, board);
}
