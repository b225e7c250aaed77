/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

const uint8_t sass_operand_at[SASS_OPERANDS] = { 16, 24, 32, 64 };
const uint8_t sass_predicate_at[SASS_PREDICATE_FIELDS] = { 12, 24, 64, 68, 77, 87, 81, 84, 32 };

#define OPCODES 0x1000

static const struct sass_form forms[OPCODES] = {
/* opcode 0: no form */
#define SASS_FORM(opcode, operands, predicates) [opcode] = { opcode, operands, predicates, 0, SASS_DEMOTE_AS },
#define SASS_UNIFORM(opcode, operands, predicates, becomes, how) \
	[opcode] = { opcode, operands, predicates, becomes, SASS_DEMOTE_##how },
#include "isa.def"
};

static const struct wide {
	uint16_t opcode;
	uint32_t known_by, value, either;
} wides[] = {
#define SASS_WIDE(opcode, known_by, value, either) { opcode, known_by, value, either },
#include "isa.def"
};

#define FIRST_WIDE 120             /* from this architecture on there are 64-bit forms */
#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)

static enum sass_width width_of(char kind)
{
	switch (kind) {
	case '-':
		return SASS_NO_OPERAND;
	case 'D':
	case 'S':
	case 'U':
	case 'V':
		return SASS_TWO;
	case 'm':
	case 'w':
		return SASS_BY_ACCESS;
	case 'a':
		return SASS_BY_ATOMIC;
	case 'q':
	case 'n':
		return SASS_TWO_IF_WIDE;
	case 'p':
		return SASS_TWO_BY_72;
	case 'x':
		return SASS_TWO_BY_73;
	case 'y':
		return SASS_ONE_BY_91;
	default:
		return SASS_ONE;
	}
}

#define KIND(letter) (1ull << ((letter) - '@'))
#define READ (KIND('r') | KIND('u') | KIND('i') | KIND('e') | KIND('R'))
#define WRITTEN (KIND('w') | KIND('v') | KIND('W'))

struct sass_by_opcode sass_by_opcode[OPCODES];

static void fill_opcode(const struct sass_form *form, struct sass_by_opcode *of)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		of->operand[o].width = width_of(form->operands[o]);
		of->operand[o].uniform = sass_is_uniform_kind(form->operands[o]);
	}
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		char kind = form->predicates[f];

		if (kind < '@')
			continue;
		of->read |= (READ & KIND(kind) ? 1u : 0) << f;
		of->written |= (WRITTEN & KIND(kind) ? 1u : 0) << f;
	}
}

__attribute__((constructor)) static void fill_opcodes(void)
{
	for (uint32_t opcode = 0; opcode < OPCODES; opcode++)
		if (forms[opcode].opcode)
			fill_opcode(&forms[opcode], &sass_by_opcode[opcode]);
	for (uint8_t i = sizeof(wides) / sizeof(*wides); i; i--) {
		struct sass_by_opcode *of = &sass_by_opcode[wides[i - 1].opcode];

		of->wide = i;
		of->wide_end = of->wide_end ? of->wide_end : i + 1;
	}
}

static const struct wide *find_wide(struct sass_insn insn)
{
	const struct sass_by_opcode *of = &sass_by_opcode[sass_opcode(insn)];

	for (uint8_t i = of->wide; i < of->wide_end; i++)
		if (wides[i - 1].opcode == sass_opcode(insn) && (insn.hi & wides[i - 1].known_by) == wides[i - 1].known_by)
			return &wides[i - 1];
	return NULL;
}

bool sass_is_wide(struct sass_insn insn)
{
	return find_wide(insn);
}

unsigned sass_predicate_cycles(struct sass_insn insn)
{
	return SASS_PREDICATE_CYCLES + sass_is_wide(insn);
}

/* The form of RED says that its opcode has a uniform operand; sass_is_uniform() checks whether the instruction
 * really has one. */
const struct sass_form *sass_form_find(uint32_t opcode)
{
	return opcode < OPCODES && forms[opcode].opcode ? &forms[opcode] : NULL;
}

bool sass_is_uniform(struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));

	return form && form->becomes && (form->becomes != form->opcode || sass_field(insn, 90, 2));
}

/* Number of data registers by bits 73..75 of loads and stores: 8 and 16 bits with and without sign, 32, 64, 128
 * bits. */
static unsigned access_width(struct sass_insn insn)
{
	static const uint8_t registers[] = { 1, 1, 1, 1, 1, 2, 4, 4 };

	return registers[sass_field(insn, 73, 3)];
}

/* Number of data registers by bits 73..75 of atomic operations: U32, S32, U64, F32, F16x2, S64, F64. */
static unsigned atomic_width(struct sass_insn insn)
{
	static const uint8_t registers[] = { 1, 1, 2, 1, 1, 2, 2, 2 };

	return registers[sass_field(insn, 73, 3)];
}

unsigned sass_width(enum sass_width by, struct sass_insn insn)
{
	switch (by) {
	case SASS_NO_OPERAND:
		return 0;
	case SASS_ONE:
		return 1;
	case SASS_TWO:
		return 2;
	case SASS_BY_ACCESS:
		return access_width(insn);
	case SASS_BY_ATOMIC:
		return atomic_width(insn);
	case SASS_TWO_IF_WIDE:
		return 1 + sass_is_wide(insn);
	case SASS_TWO_BY_72:
		return 1 + sass_field(insn, 72, 1);
	case SASS_TWO_BY_73:
		return 1 + sass_field(insn, 73, 1);
	case SASS_ONE_BY_91:
		return sass_field(insn, 91, 1);
	}
	return 0;
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
	const struct sass_form *form = &forms[sass_opcode(insn)];
	unsigned set = 0;

	for (; fields; fields &= fields - 1) {
		unsigned f = __builtin_ctz(fields), p = sass_field(insn, sass_predicate_at[f], 3);

		if (f == SASS_P_MASK)
			set |= sass_field(insn, sass_predicate_at[f], SASS_PT);
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
	return sass_field(insn, 12, 4) == (SASS_PT | 8) && sass_field(insn, 16, 8) == SASS_RZ &&
	       sass_field(insn, 24, 8) == SASS_RZ && !sass_field(insn, 32, 32);
}

bool sass_is_probe_insn(const struct sass_arch *arch, struct sass_insn insn)
{
	const struct wide *wide = find_wide(insn);

	if (!sass_form_find(sass_opcode(insn)))
		return false;
	if (wide && (arch->sm < FIRST_WIDE || (insn.hi & REST & ~(uint64_t)wide->either) != wide->value))
		return false;
	switch (sass_opcode(insn)) {
	case 0x235:
	case 0x835:
	case 0xc35: /* IADD; before sm_120 HFMA2.MMA */
		return wide || (arch->sm >= FIRST_WIDE && (insn.hi & REST & ~0x08000100ull) == 0x078e0000);
	case 0x984:
		return is_idle_lds(insn);
	case SASS_OP_STS:
	case SASS_OP_ATOMS:
	case SASS_OP_BAR: /* only the code of lane_count.h may contain these */
		return false;
	case 0x348: /* before sm_90 WARPSYNC has its register in another field */
		return arch->sm >= 90;
	case SASS_OP_BMOV_CLEAR:
		return (insn.hi & REST) == 0x100000;
	case SASS_OP_BMOV_FILL:
		return !(insn.hi & REST);
	case SASS_OP_BRA:
		return !sass_field(insn, 24, 10) && !sass_field(insn, 82, 5) && !sass_field(insn, 91, 14);
	default:
		return true;
	}
}

bool sass_is_bra_div(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA && sass_field(insn, 87, 4) == SASS_PT &&
	       sass_field(insn, 91, 14) == 1 && sass_field(insn, 30, 4) == 8 && !sass_field(insn, 82, 5);
}

bool sass_is_slow(struct sass_insn insn)
{
	enum sass_class class = sass_op_find(sass_opcode(insn))->class;
	bool none = sass_opcode(insn) == SASS_OP_BMOV_CLEAR && sass_field(insn, 16, 8) == SASS_RZ;

	return (class == SASS_SLOW && !none) || class == SASS_LOAD || class == SASS_STORE;
}

static bool is_load(struct sass_insn insn)
{
	unsigned operation = sass_opcode(insn) & 0x1ff;

	return sass_op_find(sass_opcode(insn))->class == SASS_LOAD || operation == 0x184 ||
	       operation == 0x03b; /* LDS, LDSM */
}

bool sass_is_access(struct sass_insn insn)
{
	return is_load(insn) || sass_op_find(sass_opcode(insn))->class == SASS_STORE;
}

/* Does the instruction read registers after issue, and write none? */
static bool only_reads(struct sass_insn insn)
{
	return sass_op_find(sass_opcode(insn))->class == SASS_STORE || sass_opcode(insn) == SASS_OP_BMOV_FILL;
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
