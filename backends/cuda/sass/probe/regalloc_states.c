/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     solves the data flow of a probe: which value each register holds, and which accesses are in flight.
 * Before:   the probe uses per-lane registers only; c->cfg and c->live are complete.
 * After:    c->states is complete. Values that reach the same read in the same register form one set.
 * Requires: sass_regalloc_is_known() is true for each instruction.
 */
#include "regalloc_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/dataflow.h"

#define UNGUARDED 0x40             /* bit of `boards`: an access in flight that no scoreboard guards. The analysis
                                    * assumes that it never ends. */
#define MAX_FIXED_CYCLES 15        /* cycles after which every fixed-latency result of a probe is ready */

bool sass_regalloc_is_known(const struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];

	int64_t to = sass_target_of(c->arch, c->p->insns, i);

	return sass_form(insn) && !sass_is_uniform(insn) && !sass_is_partial_move(insn) &&
	       (!sass_has_target(insn) || (to >= 0 && to < c->p->n));
}

static bool is_unconditional(struct sass_insn insn)
{
	return insn.guard == SASS_PT;
}

/* -- values, and operations in flight -- */

/* Unions the sets of two values that reach the same read in the same register. Returns the representative of the new
 * set, which is the smaller number. */
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

/* Merges states into `into`, the states before instruction i. Returns true if a state has changed. */
static bool merge_states(struct regalloc *c, uint32_t i, struct reg_state *into, const struct reg_state *from)
{
	bool changed = false;

	for (uint32_t r = 0; r < c->regs; r++) {
		struct reg_state *to = &into[r], one = from[r], was = *to;

		if (one.value == NONE || (!sass_set_has(&c->live.in[i], r) && !in_flight(&one)))
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

/* Marks the operands that the instruction accesses after issue as in flight. The read scoreboard of the instruction
 * guards its sources. Without a read scoreboard, its write scoreboard guards them. */
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

/* Returns true if the register may hold the old value as well as the new value after instruction i. There are three
 * cases. First, a guard masks lanes. Second, the instruction accesses registers after issue and also reads the
 * register. Third, the old value is in flight. Because a unit executes in order, assemblers may overwrite a register
 * before an earlier instruction of the same unit has read it. */
static bool may_hold_old_value(const struct regalloc *c, uint32_t i, unsigned reg)
{
	struct sass_insn insn = c->p->insns[i];
	struct sass_operand x = sass_register(reg, false);

	return !is_unconditional(insn) || (works_after_issue(insn) && sass_uses(insn, &x, SASS_READS)) ||
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

static void empty_states(struct reg_state *states, size_t n)
{
	for (size_t k = 0; k < n; k++)
		states[k] = (struct reg_state){ .value = NONE };
}

static void apply_block(void *arg, uint32_t b, void *state)
{
	struct regalloc *c = arg;
	const struct sass_block *block = &c->cfg.blocks[b];
	struct reg_state *states = state;

	memcpy(states_before(c, block->begin), states, c->regs * sizeof(*states));
	for (uint32_t i = block->begin; i < block->end; i++) {
		sass_regalloc_apply_insn(c, i, states);
		if (i + 1 == block->end)
			return;
		empty_states(states_before(c, i + 1), c->regs);
		merge_states(c, i + 1, states_before(c, i + 1), states);
	}
}

static bool merge_edge(void *arg, uint32_t b, void *to, const void *from)
{
	struct regalloc *c = arg;

	return merge_states(c, c->cfg.blocks[b].begin, to, from);
}

int sass_regalloc_find_states(struct regalloc *c)
{
	struct sass_dataflow flow = { .cfg = &c->cfg,
				      .size = c->regs * sizeof(struct reg_state),
				      .transfer = apply_block,
				      .merge = merge_edge,
				      .arg = c };
	struct reg_state *states = malloc((c->cfg.nblocks + 1) * flow.size), entry[REGS];
	int err = -ENOMEM;

	number_values(c);
	for (uint32_t r = 0; r < c->regs; r++)
		entry[r] = (struct reg_state){ .value = c->initial[r] };
	if (states) {
		empty_states(states, (size_t)c->cfg.nblocks * c->regs);
		merge_states(c, 0, states, entry);
		err = sass_dataflow_solve(&flow, states);
	}
	free(states);
	return err;
}
