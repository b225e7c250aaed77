/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Value numbering: proves that two straight-line probes have equal effects. The number of a value is a hash of its
 * operation and of the numbers of its operands. Two probes are equal if their effects have the same numbers in the same
 * order. The number of an effect includes the condition under which lanes have ended. So a store after `@P EXIT` equals
 * a store under @!P.
 */
#include "schedule.h"

#define TRUE_NUMBER 3
#define UNDEFINED 1
#define MAX_EFFECTS 128

struct numbers {
	uint64_t reg[256], predicate[8];
	bool is_invariant[256], predicate_is_invariant[8]; /* per register or predicate: its value would be the same
	                                                    * if the thread computed it again later */
	uint64_t exit_conditions; /* number of the set of lanes that have not ended. It is the sum of the numbers of
	                           * the exit conditions, so that their order does not matter. */
	uint64_t effects[MAX_EFFECTS];
	uint32_t n, nordered; /* n: number of effects. nordered: number of effects except reads of the clock. */
	bool failed;
};

/* the mixing function of splitmix64 */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t guard_number(const struct numbers *s, struct sass_insn insn, bool opposite)
{
	unsigned p = (insn.guard & SASS_PT);

	return p == SASS_PT ? 0 : mix(s->predicate[p], 5 + (insn.guard >> 3 ^ opposite));
}

/* Returns the number of the result of the instruction. The number does not depend on the choice of registers. */
static uint64_t result_number(const struct numbers *s, struct sass_insn insn, int fields)
{
	struct sass_word rest = sass_operation_bits(insn, fields);
	uint64_t h = 0;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned k = 0; o && k < x.n; k++)
			h = mix(h, s->reg[(x.reg + k) & 255]);
		h = mix(h, x.n);
	}
	for (unsigned f = 1; f < SASS_P_OUT; f++)
		if (fields >> f & 1)
			h = mix(h, s->predicate[sass_predicate(insn, f)]);
	return mix(mix(h, rest.lo), rest.hi);
}

static void add_effect(struct numbers *s, uint64_t number)
{
	if (s->n == MAX_EFFECTS)
		s->failed = true;
	else
		s->effects[s->n++] = number;
}

static uint64_t number_effect(struct numbers *s, struct sass_insn insn, uint64_t number)
{
	if (sass_reads_clock(insn)) {
		number = mix(number, s->n);
		add_effect(s, number);
	} else if (sass_has_side_effect(insn)) {
		number = mix(mix(number, s->exit_conditions + guard_number(s, insn, false)), s->nordered++);
		add_effect(s, number);
	}
	return number;
}

/* Returns true if the result stays the same while a thread runs. All lanes must compute it, without a side effect,
 * from operands that stay the same. */
static bool is_invariant_result(const struct numbers *s, struct sass_insn insn, int fields)
{

	if (sass_has_side_effect(insn) || sass_reads_multiprocessor(insn) || s->exit_conditions || insn.guard != SASS_PT)
		return false;
	for (unsigned o = 1; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		for (unsigned k = 0; k < x.n; k++)
			if (!s->is_invariant[(x.reg + k) & 255])
				return false;
	}
	for (unsigned f = 1; f < SASS_P_OUT; f++)
		if (fields >> f & 1 && !s->predicate_is_invariant[sass_predicate(insn, f)])
			return false;
	return true;
}

static void define_results(struct numbers *s, struct sass_insn insn, uint64_t number, int fields)
{
	struct sass_operand x = insn.operand[0];
	bool is_guarded = (insn.guard & SASS_PT) != SASS_PT && !sass_has_side_effect(insn);
	uint64_t when = guard_number(s, insn, false);
	bool invariant = is_invariant_result(s, insn, fields);

	for (unsigned k = 0; k < x.n; k++) {
		uint64_t *to = &s->reg[(x.reg + k) & 255], now = sass_copied_operand(insn) > 0 ? number : mix(number, k);

		*to = is_guarded || *to != UNDEFINED ?
			      ((insn.guard & SASS_PT) == SASS_PT ? now : mix(mix(now, when), *to)) :
			      now;
		s->is_invariant[(x.reg + k) & 255] = invariant;
	}
	for (unsigned f = 1; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned p = sass_predicate(insn, f);

		if (!(fields >> f & 1) || f < SASS_P_OUT || p == SASS_PT)
			continue;
		s->predicate_is_invariant[p] = invariant;
		s->predicate[p] = (insn.guard & SASS_PT) == SASS_PT ?
					  mix(number, 100 + f) :
					  mix(mix(number, 100 + f), mix(when, s->predicate[p]));
	}
}

static void number_insn(struct numbers *s, struct sass_insn insn)
{
	int fields = sass_predicate_fields(insn);
	int copied = sass_copied_operand(insn);
	uint64_t number;

	if (fields < 0 || !sass_form(insn)) {
		s->failed = true;
		return;
	}
	if (sass_opcode(insn) == SASS_OP_NOP)
		return;
	if (sass_opcode(insn) == SASS_OP_EXIT) {
		s->failed |= insn.in != SASS_PT;
		s->exit_conditions += guard_number(s, insn, true);
		return;
	}
	number = copied > 0 ? s->reg[insn.operand[copied].reg] : result_number(s, insn, fields);
	define_results(s, insn, number_effect(s, insn, number), fields);
}

static void init_numbers(struct numbers *s)
{
	*s = (struct numbers){ .predicate_is_invariant[SASS_PT] = true };
	for (unsigned r = 0; r < 256; r++)
		s->reg[r] = UNDEFINED;
	for (unsigned p = 0; p < SASS_PT; p++)
		s->predicate[p] = UNDEFINED;
	s->predicate[SASS_PT] = TRUE_NUMBER;
}

/* Returns the value numbers of the results of the instruction. Member n of the returned structure is the number of
 * results, or 0 if one of the results is not invariant. */
static struct sass_insn_values insn_values(const struct numbers *s, struct sass_insn insn)
{
	struct sass_operand x = insn.operand[0];
	struct sass_insn_values made = { .n = sass_opcode(insn) == SASS_OP_EXIT ? 0 : x.n };

	for (unsigned k = 0; k < made.n; k++) {
		if (!s->is_invariant[(x.reg + k) & 255])
			return (struct sass_insn_values){ 0 };
		made.number[k] = s->reg[(x.reg + k) & 255];
	}
	return made;
}

/* Numbers the values and effects of the code. Stores the values of each instruction in made[], unless `made` is
 * NULL. */
static void number_code(struct numbers *s, const struct sass_insn *insns, uint32_t n, struct sass_insn_values *made)
{
	for (uint32_t i = 0; i < n; i++) {
		s->failed |= i + 1 < n && sass_opcode(insns[i]) == SASS_OP_EXIT && sass_is_unconditional(insns[i]);
		number_insn(s, insns[i]);
		if (made)
			made[i] = s->failed ? (struct sass_insn_values){ 0 } : insn_values(s, insns[i]);
	}
	s->failed |= !n || sass_opcode(insns[n - 1]) != SASS_OP_EXIT || !sass_is_unconditional(insns[n - 1]);
}

static bool same_effects(const struct numbers *a, const struct numbers *b)
{
	return !a->failed && !b->failed && a->n == b->n && !memcmp(a->effects, b->effects, a->n * sizeof(*a->effects));
}

bool sass_is_equivalent(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb)
{
	struct numbers of_a, of_b;

	init_numbers(&of_a);
	init_numbers(&of_b);
	number_code(&of_a, a, na, NULL);
	number_code(&of_b, b, nb, NULL);
	return same_effects(&of_a, &of_b);
}

bool sass_is_equivalent_after(const struct sass_probe *before, const struct sass_probe *a, const struct sass_probe *b)
{
	struct numbers of_a, of_b, from_before;

	init_numbers(&of_a);
	init_numbers(&of_b);
	init_numbers(&from_before);
	number_code(&of_a, a->insns, a->n, NULL);
	number_code(&from_before, before->insns, before->n, NULL);
	for (unsigned r = 0; r < 256; r++)
		of_b.reg[r] = from_before.is_invariant[r] ? from_before.reg[r] : UNDEFINED;
	number_code(&of_b, b->insns, b->n, NULL);
	return !from_before.failed && same_effects(&of_a, &of_b);
}

bool sass_number_values(const struct sass_insn *insns, uint32_t n, struct sass_insn_values *made)
{
	struct numbers s;

	init_numbers(&s);
	number_code(&s, insns, n, made);
	return !s.failed;
}
