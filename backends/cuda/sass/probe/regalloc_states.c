/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     solves the data flow of a probe: live registers, their values, and their operations in flight.
 * Before:   the probe uses registers of lanes only.
 * After:    c->live and c->states are complete. Values that reach one read in the same register form one set.
 * Requires: sass_regalloc_is_known() for each instruction.
 */
#include "regalloc_work.h"

#include <string.h>

#define UNGUARDED 0x40             /* bit of `boards`: an access in flight that no scoreboard guards, so it never
                                    * ends for the analysis */
#define MAX_FIXED_CYCLES 15        /* cycles after which every fixed-latency result of a probe is ready */

/* -- edges -- */

static bool falls_through(const struct regalloc *c, uint32_t i)
{
	uint32_t opcode = sass_opcode(c->p->insns[i]);

	return i + 1 < c->p->n &&
	       !((opcode == SASS_OP_BRA || opcode == SASS_OP_EXIT) && sass_is_unconditional(c->p->insns[i]));
}

/* Returns the target of a branch or of BSSY, which counts as an edge too; SASS_NONE: none, or outside of the probe. */
static uint32_t target(const struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	int64_t to = (int64_t)i + 1 + sass_branch(c->arch, insn) / SASS_INSN;

	if (!sass_has_target(insn))
		return SASS_NONE;
	return to >= 0 && to < c->p->n ? to : SASS_NONE;
}

bool sass_regalloc_is_known(const struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	bool partly = (sass_opcode(insn) & 0x1ff) == 0x002 && sass_field(insn, 72, 4) != 0xf; /* MOV of some bytes */

	return sass_form_find(sass_opcode(insn)) && !sass_is_uniform(insn) && !partly &&
	       (!sass_has_target(insn) || target(c, i) != SASS_NONE);
}

static bool is_unconditional(struct sass_insn insn)
{
	return sass_field(insn, 12, 4) == SASS_PT;
}

/* -- liveness -- */

void sass_regalloc_find_live_out(const struct regalloc *c, uint32_t i, uint64_t set[REGS / 64])
{
	uint32_t to = target(c, i);

	memset(set, 0, sizeof(*c->live));
	for (unsigned k = 0; k < REGS / 64; k++)
		set[k] |= (falls_through(c, i) ? c->live[i + 1][k] : 0) | (to != SASS_NONE ? c->live[to][k] : 0);
}

static bool find_live_before(struct regalloc *c, uint32_t i)
{
	uint64_t set[REGS / 64], changed = 0;

	sass_regalloc_find_live_out(c, i, set);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && x.written && is_unconditional(c->p->insns[i]); k++)
			set[k / 64] &= ~(1ull << k % 64);
	}
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && !x.written; k++)
			set[k / 64] |= 1ull << k % 64;
	}
	for (unsigned k = 0; k < REGS / 64; k++)
		changed |= set[k] ^ c->live[i][k];
	memcpy(c->live[i], set, sizeof(set));
	return changed;
}

static void find_live(struct regalloc *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = c->p->n; i--;)
			changed |= find_live_before(c, i);
	}
}

/* -- values, and operations in flight -- */

/* Unions the sets of two values that reach one read in the same register. Returns the representative, the smaller
 * number. */
static uint16_t merge_sets(struct regalloc *c, uint16_t a, uint16_t b)
{
	a = find_set(c, a);
	b = find_set(c, b);
	if (a < b)
		c->parent[b] = a;
	else
		c->parent[a] = b;
	return a < b ? a : b;
}

static void number_values(struct regalloc *c)
{
	c->nvalues = 0;
	for (uint32_t r = 0; r < c->regs; r++)
		c->old_reg[c->nvalues] = r, c->initial[r] = c->nvalues++;
	for (uint32_t i = 0; i < c->p->n; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);

			for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && x.written; k++)
				c->old_reg[c->nvalues] = k, c->defined[i * c->regs + k] = c->nvalues++;
		}
	for (uint32_t v = 0; v < c->nvalues; v++)
		c->parent[v] = v;
}

/* Merges the states of one more incoming edge into the states before instruction i. Returns true if one changed. */
static bool merge_state(struct regalloc *c, uint32_t i, const struct reg_state *from)
{
	bool changed = false;

	for (uint32_t r = 0; r < c->regs; r++) {
		struct reg_state *to = &states_before(c, i)[r], one = from[r], was = *to;

		if (one.value == NONE || (!has_bit(c->live[i], r) && !in_flight(&one)))
			continue;
		to->value = to->value == NONE ? find_set(c, one.value) : merge_sets(c, to->value, one.value);
		to->boards |= one.boards;
		to->unseen_boards |= one.unseen_boards;
		to->cycles = to->cycles > one.cycles ? to->cycles : one.cycles;
		changed |= was.value == NONE || was.boards != to->boards || was.unseen_boards != to->unseen_boards ||
			   was.cycles != to->cycles || find_set(c, was.value) != was.value || to->value != was.value;
	}
	return changed;
}

/* Marks the operands that the instruction accesses after issue as in flight. Its read scoreboard guards the sources;
 * if it sets none, its write scoreboard does. */
static void mark_in_flight(struct regalloc *c, uint32_t i, struct reg_state *states)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned wb = sass_write_board(insn), rb = sass_read_board(insn);
	bool after_issue = works_after_issue(insn);
	unsigned read = rb != SASS_NO_SCOREBOARD ? rb : wb;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);
		unsigned board = x.written ? wb : read;

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
			if (x.written)
				states[r].cycles = after_issue ? 0 : MAX_FIXED_CYCLES;
			if (!after_issue)
				continue;
			if (board == SASS_NO_SCOREBOARD)
				states[r].boards |= UNGUARDED;
			else if (sass_min_cycles(insn) < SASS_SCOREBOARD_CYCLES)
				states[r].unseen_boards |= 1u << board;
			else
				states[r].boards |= 1u << board;
		}
	}
}

static bool reads(const struct regalloc *c, uint32_t i, unsigned reg)
{
	bool any = false;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		any |= !x.written && x.n && reg >= x.reg && reg < (unsigned)x.reg + x.n;
	}
	return any;
}

/* May the register hold the old value as well as the new one after instruction i? Yes if a guard masks lanes, if an
 * instruction that accesses registers after issue also reads the register, or if the old value is in flight. (A unit
 * executes in order, so assemblers overwrite a register that an earlier instruction of the same unit still has to
 * read.) */
static bool may_hold_old_value(const struct regalloc *c, uint32_t i, unsigned reg)
{
	struct sass_insn insn = c->p->insns[i];

	return !is_unconditional(insn) || (works_after_issue(insn) && reads(c, i, reg)) ||
	       stays_in_flight(&states_before(c, i)[reg], insn);
}

void sass_regalloc_apply_insn(struct regalloc *c, uint32_t i, struct reg_state *states)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned passed = sass_min_cycles(insn);

	memcpy(states, states_before(c, i), c->regs * sizeof(*states));
	for (uint32_t r = 0; r < c->regs; r++) {
		states[r].boards = (states[r].boards & ~sass_wait_mask(insn)) | states[r].unseen_boards;
		states[r].unseen_boards = 0;
	}
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && x.written; r++) {
			uint16_t made = find_set(c, c->defined[i * c->regs + r]);
			bool keeps_old = may_hold_old_value(c, i, r) && states[r].value != NONE;

			states[r] = keeps_old ? states[r] : (struct reg_state){ .value = made };
			states[r].value = keeps_old ? merge_sets(c, states[r].value, made) : made;
		}
	}
	mark_in_flight(c, i, states);
	for (uint32_t r = 0; r < c->regs; r++)
		states[r].cycles -= states[r].cycles < passed ? states[r].cycles : passed;
}

static void solve_states(struct regalloc *c)
{
	struct reg_state states[REGS];
	bool changed = true;

	for (size_t k = 0; k < (size_t)c->p->n * c->regs; k++)
		c->states[k] = (struct reg_state){ .value = NONE };
	for (uint32_t r = 0; r < c->regs; r++)
		states[r] = (struct reg_state){ .value = c->initial[r] };
	merge_state(c, 0, states);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->p->n; i++) {
			uint32_t to = target(c, i);

			sass_regalloc_apply_insn(c, i, states);
			changed |= falls_through(c, i) && merge_state(c, i + 1, states);
			changed |= to != SASS_NONE && merge_state(c, to, states);
		}
	}
}

void sass_regalloc_find_states(struct regalloc *c)
{
	find_live(c);
	number_values(c);
	solve_states(c);
}
