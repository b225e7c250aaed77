/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two straight probes do the same: each value gets a number by what computes it of which others; the effects, in
 * their order, must have the same numbers. What lanes had ended is part of an effect: an end under a predicate, and
 * effects behind it under the opposite one, are the same.
 */
#include "schedule.h"

#define TRUE_NUMBER 3
#define UNDEFINED 1
#define MOST_EFFECTS 128

struct numbers {
	uint64_t reg[256], predicate[8];
	uint64_t ended;            /* which lanes go on: a sum over conditions, whose order does not matter */
	uint64_t effects[MOST_EFFECTS];
	uint32_t n, done;          /* effects, and those among them that memory sees */
	bool failed;
};

/* splitmix64 */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t condition(const struct numbers *s, struct sass_insn insn, bool opposite)
{
	unsigned p = sass_field(insn, 12, 3);

	return p == SASS_PT ? 0 : mix(s->predicate[p], 5 + (sass_field(insn, 15, 1) ^ opposite));
}

/* What it computes, of what it reads: no matter in which registers. */
static uint64_t number_of(const struct numbers *s, struct sass_insn insn, int fields)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_insn rest = sass_with(insn, SASS_STALL_AT, 21, 0);
	uint64_t h = 0;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = sass_operand(form, insn, o);

		if (form->operands[o] != '-')
			rest = sass_with(rest, x.at, 8, 0);
		for (unsigned k = 0; o && k < x.n; k++)
			h = mix(h, s->reg[(x.reg + k) & 255]);
		h = mix(h, x.n);
	}
	rest = sass_with(rest, 12, 4, 0);
	for (unsigned f = 1; f < SASS_PREDICATE_FIELDS; f++) {
		if (!(fields >> f & 1))
			continue;
		if (f < SASS_P_OUT)
			h = mix(h, s->predicate[sass_field(insn, sass_predicate_at[f], 3)]);
		rest = sass_with(rest, sass_predicate_at[f], 3, 0);
	}
	return mix(mix(h, rest.lo), rest.hi);
}

static void add_effect(struct numbers *s, uint64_t number)
{
	if (s->n == MOST_EFFECTS)
		s->failed = true;
	else
		s->effects[s->n++] = number;
}

static uint64_t carry_out(struct numbers *s, struct sass_insn insn, uint64_t number)
{
	if (sass_reads_clock(insn)) {
		number = mix(number, s->n);
		add_effect(s, number);
	} else if (sass_is_ordered(insn)) {
		number = mix(mix(number, s->ended + condition(s, insn, false)), s->done++);
		add_effect(s, number);
	}
	return number;
}

static void define(struct numbers *s, struct sass_insn insn, uint64_t number, int fields)
{
	struct sass_operand x = sass_operand(sass_form_find(sass_opcode(insn)), insn, 0);
	bool partly = sass_field(insn, 12, 3) != SASS_PT && !sass_is_ordered(insn);
	uint64_t when = condition(s, insn, false);

	for (unsigned k = 0; k < x.n; k++) {
		uint64_t *to = &s->reg[(x.reg + k) & 255], now = sass_copied_from(insn) ? number : mix(number, k);

		*to = partly || *to != UNDEFINED ? (sass_field(insn, 12, 3) == SASS_PT ? now : mix(mix(now, when), *to)) : now;
	}
	for (unsigned f = 1; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned p = sass_field(insn, sass_predicate_at[f], 3);

		if (!(fields >> f & 1) || f < SASS_P_OUT || p == SASS_PT)
			continue;
		s->predicate[p] = sass_field(insn, 12, 3) == SASS_PT ? mix(number, 100 + f) :
								       mix(mix(number, 100 + f), mix(when, s->predicate[p]));
	}
}

static void take(struct numbers *s, struct sass_insn insn)
{
	int fields = sass_predicate_fields(insn);
	unsigned copied = sass_copied_from(insn);
	uint64_t number;

	if (fields < 0 || !sass_form_find(sass_opcode(insn))) {
		s->failed = true;
		return;
	}
	if (sass_opcode(insn) == SASS_OP_NOP)
		return;
	if (sass_opcode(insn) == SASS_OP_EXIT) {
		s->failed |= sass_field(insn, 87, 4) != SASS_PT;
		s->ended += condition(s, insn, true);
		return;
	}
	number = copied ? s->reg[sass_field(insn, copied, 8)] : number_of(s, insn, fields);
	define(s, insn, carry_out(s, insn, number), fields);
}

static void number_all(struct numbers *s, const struct sass_insn *insns, uint32_t n)
{
	*s = (struct numbers){ 0 };
	for (unsigned r = 0; r < 256; r++)
		s->reg[r] = UNDEFINED;
	for (unsigned p = 0; p < SASS_PT; p++)
		s->predicate[p] = UNDEFINED;
	s->predicate[SASS_PT] = TRUE_NUMBER;
	for (uint32_t i = 0; i < n; i++) {
		s->failed |= i + 1 < n && sass_opcode(insns[i]) == SASS_OP_EXIT && sass_unconditional(insns[i]);
		take(s, insns[i]);
	}
	s->failed |= !n || sass_opcode(insns[n - 1]) != SASS_OP_EXIT || !sass_unconditional(insns[n - 1]);
}

bool sass_does_same(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb)
{
	struct numbers of_a, of_b;

	number_all(&of_a, a, na);
	number_all(&of_b, b, nb);
	return !of_a.failed && !of_b.failed && of_a.n == of_b.n &&
	       !memcmp(of_a.effects, of_b.effects, of_a.n * sizeof(*of_a.effects));
}
