/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the bits of an instruction.
 *
 * Does:     splits the bits into fields, and finds the operands with their widths by the form of the opcode.
 * Before:   the 128 bits of any instruction, known or not.
 * After:    struct sass_insn; sass_encode() of it returns the same bits.
 * Requires: fields.def covers each bit once, which the assertions here check.
 */
#include "form.h"

const uint8_t sass_operand_at[SASS_OPERANDS] = { 16, 24, 32, 64 };

#define OPCODES 0x1000

static const struct sass_form forms[OPCODES] = {
/* opcode 0: no form */
#define SASS_FORM(opcode, operands, predicates) [opcode] = { opcode, operands, predicates, 0, SASS_DEMOTE_AS },
#define SASS_UNIFORM(opcode, operands, predicates, becomes, how) \
	[opcode] = { opcode, operands, predicates, becomes, SASS_DEMOTE_##how },
#include "isa.def"
};

static const struct sass_wide wides[] = {
#define SASS_WIDE(opcode, known_by, value, either) { opcode, known_by, value, either },
#include "isa.def"
};

/* Facts about each opcode, in a table for speed. A constructor fills the table before main(). `wide` and `wide_end`
 * are the range of the opcode's rows in wides[], counted from 1. */
struct sass_by_opcode sass_by_opcode[OPCODES];

/* -- the fields cover each bit once -- */

#define SASS_FIELD(member, at, bits) +((at) < 64 ? SASS_BITS(at, bits) : 0)
#define SASS_REGISTER_FIELD(o, at) +((at) < 64 ? SASS_BITS(at, 8) : 0)
_Static_assert(0
#include "fields.def"
		       == UINT64_MAX,
	       "fields of the low half");
#define SASS_FIELD(member, at, bits) +((at) < 64 ? 0 : SASS_BITS(at, bits))
#define SASS_REGISTER_FIELD(o, at) +((at) < 64 ? 0 : SASS_BITS(at, 8))
_Static_assert(0
#include "fields.def"
		       == UINT64_MAX,
	       "fields of the high half");
#define SASS_FIELD(member, at, bits) +(bits)
#define SASS_REGISTER_FIELD(o, at) +8
_Static_assert(0
#include "fields.def"
		       == 8 * SASS_INSN,
	       "no bit is in two fields");

/* -- widths of operands -- */

/* How many registers an operand has: a fixed number, or a number that bits of the instruction encode. */
enum width {
	NO_OPERAND,
	ONE,
	TWO,
	BY_ACCESS,
	BY_ATOMIC,
	TWO_IF_WIDE,
	TWO_BY_72,
	TWO_BY_73,
	ONE_BY_91,
};

static enum width width_of(char kind)
{
	switch (kind) {
	case '-':
		return NO_OPERAND;
	case 'D':
	case 'S':
	case 'U':
	case 'V':
		return TWO;
	case 'm':
	case 'w':
		return BY_ACCESS;
	case 'a':
		return BY_ATOMIC;
	case 'q':
	case 'n':
		return TWO_IF_WIDE;
	case 'p':
		return TWO_BY_72;
	case 'x':
		return TWO_BY_73;
	case 'y':
		return ONE_BY_91;
	default:
		return ONE;
	}
}

/* Returns the number of registers of an operand. Loads and stores encode these sizes in bits 73..75: 8 and 16 bits
 * with and without sign, 32, 64, 128 bits. Atomic operations encode there: U32, S32, U64, F32, F16x2, S64, F64. */
static unsigned count_registers(enum width by, const struct sass_insn *insn)
{
	static const uint8_t accesses[] = { 1, 1, 1, 1, 1, 2, 4, 4 }, atomics[] = { 1, 1, 2, 1, 1, 2, 2, 2 };

	switch (by) {
	case NO_OPERAND:
		return 0;
	case ONE:
		return 1;
	case TWO:
		return 2;
	case BY_ACCESS:
		return accesses[insn->modifiers >> 1 & 7];
	case BY_ATOMIC:
		return atomics[insn->modifiers >> 1 & 7];
	case TWO_IF_WIDE:
		return 1 + insn->wide;
	case TWO_BY_72:
		return 1 + (insn->modifiers & 1);
	case TWO_BY_73:
		return 1 + (insn->modifiers >> 1 & 1);
	case ONE_BY_91:
		return insn->mode & 1;
	}
	return 0;
}

/* -- the table by opcode -- */

#define KIND(letter) (1ull << ((letter) - '@'))
#define READ (KIND('r') | KIND('u') | KIND('i') | KIND('e') | KIND('R'))
#define WRITTEN (KIND('w') | KIND('v') | KIND('W'))

static void fill_opcode(const struct sass_form *form, struct sass_by_opcode *of)
{
	of->form = form;
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		of->operand[o].width = width_of(form->operands[o]);
		of->operand[o].uniform = sass_is_uniform_kind(form->operands[o]);
	}
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		char kind = form->predicates[f];

		if (kind < '@')
			continue;
		of->inverted |= kind == 'i';
		of->named |= (kind == 'i' ? 0u : 1u) << f;
		of->read |= (READ & KIND(kind) ? 1u : 0) << f;
		of->written |= (WRITTEN & KIND(kind) ? 1u : 0) << f;
	}
	of->demotes = form->becomes || strpbrk(form->predicates, "uve");
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

static const struct sass_wide *find_wide(const struct sass_by_opcode *by, uint32_t opcode, uint64_t hi)
{
	for (uint8_t i = by->wide; i < by->wide_end; i++)
		if (wides[i - 1].opcode == opcode && (hi & wides[i - 1].known_by) == wides[i - 1].known_by)
			return &wides[i - 1];
	return NULL;
}

const struct sass_wide *sass_wide_find(struct sass_insn insn)
{
	return insn.wide ? find_wide(&sass_by_opcode[insn.opcode], insn.opcode, sass_encode(insn).hi) : NULL;
}

/* -- decoding -- */

static inline struct sass_operand decode_operand(const struct sass_by_opcode *by, const struct sass_insn *insn,
						 unsigned o, unsigned bits)
{
	unsigned width = by->operand[o].width;
	bool uniform = by->operand[o].uniform;
	struct sass_operand x = { .reg = bits, .uniform = uniform, .written = o == 0 };

	x.width = width > TWO ? count_registers(width, insn) : width;
	if (uniform) {
		x.reg = bits & SASS_URZ;
		x.rest = bits & ~SASS_URZ;
	}
	x.n = x.reg == (uniform ? SASS_URZ : SASS_RZ) ? 0 : x.width;
	return x;
}

struct sass_insn sass_decode(struct sass_word w)
{
	const struct sass_by_opcode *by = &sass_by_opcode[w.lo % OPCODES];
	struct sass_insn insn = {
#define SASS_FIELD(member, at, bits) .member = ((at) < 64 ? w.lo : w.hi) >> (at) % 64 & ((1ull << (bits)) - 1),
#include "fields.def"
	};

	insn.wide = by->wide && find_wide(by, insn.opcode, w.hi);
#define SASS_REGISTER_FIELD(o, at) \
	insn.operand[o] = decode_operand(by, &insn, o, ((at) < 64 ? w.lo : w.hi) >> (at) % 64 & 0xff);
#include "fields.def"
	return insn;
}
