/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

const uint8_t sass_operand_at[SASS_OPERANDS] = { 16, 24, 32, 64 };
const uint8_t sass_predicate_at[SASS_PREDICATE_FIELDS] = { 12, 24, 64, 68, 77, 87, 81, 84, 32 };

#define OPCODES 0x1000

static const struct sass_form forms[OPCODES] = { /* those that are none have opcode 0 */
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

#define FIRST_WIDE 120             /* the first architecture that has them */
#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)

static const struct wide *find_wide(struct sass_insn insn)
{
	for (size_t i = 0; i < sizeof(wides) / sizeof(*wides); i++)
		if (wides[i].opcode == sass_opcode(insn) && (insn.hi & wides[i].known_by) == wides[i].known_by)
			return &wides[i];
	return NULL;
}

bool sass_is_wide(struct sass_insn insn)
{
	return find_wide(insn);
}

unsigned sass_predicate_time(struct sass_insn insn)
{
	return SASS_PREDICATE_TIME + sass_is_wide(insn);
}

/* RED without a descriptor has the opcode that it has with one: sass_is_uniform(). */
const struct sass_form *sass_form_find(uint32_t opcode)
{
	return opcode < OPCODES && forms[opcode].opcode ? &forms[opcode] : NULL;
}

/* 73..75 of loads and stores: 8 and 16 bits with and without sign, 32, 64, 128 */
static unsigned access_width(struct sass_insn insn)
{
	static const uint8_t registers[] = { 1, 1, 1, 1, 1, 2, 4, 4 };

	return registers[sass_field(insn, 73, 3)];
}

/* of atomic operations: U32, S32, U64, F32, F16x2, S64, F64 */
static unsigned atomic_width(struct sass_insn insn)
{
	static const uint8_t registers[] = { 1, 1, 2, 1, 1, 2, 2, 2 };

	return registers[sass_field(insn, 73, 3)];
}

static unsigned width(char kind, struct sass_insn insn)
{
	switch (kind) {
	case 'D': case 'S': case 'U': case 'V':
		return 2;
	case 'm': case 'w':
		return access_width(insn);
	case 'a':
		return atomic_width(insn);
	case 'q': case 'n':
		return sass_is_wide(insn) ? 2 : 1;
	case 'p':
		return sass_field(insn, 72, 1) ? 2 : 1;
	case 'x':
		return sass_field(insn, 73, 1) ? 2 : 1;
	default:
		return 1;
	}
}

struct sass_operand sass_operand(const struct sass_form *form, struct sass_insn insn, unsigned i)
{
	char kind = form->operands[i];
	bool uniform = sass_is_uniform_kind(kind);
	struct sass_operand o = { .at = sass_operand_at[i], .uniform = uniform, .written = i == 0 };

	if (kind == '-' || (kind == 'y' && !sass_field(insn, 91, 1)))
		return o;
	o.reg = sass_field(insn, o.at, uniform ? 6 : 8);
	o.n = o.reg == (uniform ? SASS_URZ : SASS_RZ) ? 0 : width(kind, insn);
	return o;
}

#define ALWAYS_TRUE (1u << SASS_PT | 1u << (SASS_WARPS + SASS_PT))

bool sass_predicate_is_warps(const struct sass_form *form, struct sass_insn insn, unsigned field)
{
	switch (form->predicates[field]) {
	case 'u': case 'v':
		return true;
	case 'e':
		return sass_field(insn, 67, 1);
	default:
		return false;
	}
}

/* Those in fields of these kinds. */
static unsigned predicates(struct sass_insn insn, const char *kinds)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	unsigned set = 0;

	for (unsigned f = 0; form && f < SASS_PREDICATE_FIELDS; f++) {
		unsigned p = sass_field(insn, sass_predicate_at[f], 3);

		if (!form->predicates[f] || !strchr(kinds, form->predicates[f]))
			continue;
		if (f == SASS_P_MASK)
			set |= sass_field(insn, sass_predicate_at[f], SASS_PT);
		else
			set |= 1u << ((form->predicates[f] == 'i' ? SASS_PT - p : p) +
				      (sass_predicate_is_warps(form, insn, f) ? SASS_WARPS : 0));
	}
	return set & ~ALWAYS_TRUE;
}

unsigned sass_predicates_read(struct sass_insn insn)
{
	return predicates(insn, "ruieR");
}

unsigned sass_predicates_written(struct sass_insn insn)
{
	return predicates(insn, "wvW");
}

static bool is_idle_lds(struct sass_insn insn)
{
	return sass_field(insn, 12, 4) == (SASS_PT | 8) && sass_field(insn, 16, 8) == SASS_RZ &&
	       sass_field(insn, 24, 8) == SASS_RZ && !sass_field(insn, 32, 32);
}

bool sass_is_plain(const struct sass_arch *arch, struct sass_insn insn)
{
	const struct wide *wide = find_wide(insn);

	if (!sass_form_find(sass_opcode(insn)))
		return false;
	if (wide && (arch->sm < FIRST_WIDE || (insn.hi & REST & ~(uint64_t)wide->either) != wide->value))
		return false;
	switch (sass_opcode(insn)) {
	case 0x235: case 0x835: case 0xc35: /* IADD, or before that HFMA2.MMA */
		return wide || (arch->sm >= FIRST_WIDE && (insn.hi & REST & ~0x08000100ull) == 0x078e0000);
	case 0x984:
		return is_idle_lds(insn);
	case SASS_OP_STS: case SASS_OP_ATOMS: case SASS_OP_BAR: /* count.h */
		return false;
	case SASS_OP_BMOV_CLEAR:
		return (insn.hi & REST) == 0x100000;
	case SASS_OP_BMOV_BACK:
		return !(insn.hi & REST);
	case SASS_OP_BRA:
		return !sass_field(insn, 24, 10) && !sass_field(insn, 82, 5) && !sass_field(insn, 91, 14);
	default:
		return true;
	}
}

bool sass_is_divergence(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA && sass_field(insn, 87, 4) == SASS_PT && sass_field(insn, 91, 14) == 1 &&
	       sass_field(insn, 30, 4) == 8 && !sass_field(insn, 82, 5);
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

	return sass_op_find(sass_opcode(insn))->class == SASS_LOAD || operation == 0x184 || operation == 0x03b; /* LDS, LDSM */
}

bool sass_is_access(struct sass_insn insn)
{
	return is_load(insn) || sass_op_find(sass_opcode(insn))->class == SASS_STORE;
}

bool sass_lacks_board(struct sass_insn insn)
{
	return sass_is_slow(insn) && sass_write_board(insn) == SASS_NO_SCOREBOARD &&
	       (is_load(insn) || sass_read_board(insn) == SASS_NO_SCOREBOARD);
}

struct sass_insn sass_with_board(struct sass_insn insn, unsigned board)
{
	bool reads = sass_op_find(sass_opcode(insn))->class == SASS_STORE || sass_opcode(insn) == SASS_OP_BMOV_BACK;

	return sass_with(insn, reads ? SASS_READ_AT : SASS_WRITE_AT, 3, board);
}
