/* SPDX-License-Identifier: Apache-2.0 */
#include "regalloc_work.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_INSNS 4096             /* maximum number of instructions, so that 16 bits can number all values */
#define STACK_POINTER 1

/* -- interference -- */

static void add_interference(struct regalloc *c, uint16_t a, uint16_t b)
{
	if (c->old_reg[a] != c->old_reg[b])
		sass_coloring_interfere(&c->coloring, a, b);
}

/* Adds the interferences of the values that instruction i writes. Such a value interferes with all values that are
 * live or in flight after the instruction. If the instruction accesses registers after issue, its own sources count
 * as in flight. */
static void find_interference(struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	struct sass_set live_out = sass_live_out(&c->live, i);
	struct reg_state states[REGS];
	bool after_issue = works_after_issue(insn);

	sass_regalloc_apply_insn(c, i, states);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (uint32_t r = 0; r < c->regs; r++) {
				bool is_occupied = sass_set_has(&live_out, r) ||
						   stays_in_flight(&states_before(c, i)[r], insn) ||
						   (after_issue && in_flight(&states[r]));

				if (is_occupied && states[r].value != NONE)
					add_interference(c, find_set(c, states[w].value), find_set(c, states[r].value));
			}
		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++)
				add_interference(c, find_set(c, states[w].value), find_set(c, states[r].value));
	}
}

/* -- groups -- */

/* Joins the values of an operand to a group. The registers of a pair or quad stay aligned. */
static void join_operand(struct regalloc *c, struct sass_operand x, const struct reg_state *states)
{
	for (unsigned k = 0; k < x.n; k++)
		c->groups.failed |= states[x.reg + k].value == NONE;
	for (unsigned k = 1; k < x.n && !c->groups.failed; k++)
		sass_groups_join(&c->groups, find_set(c, states[x.reg].value), find_set(c, states[x.reg + k].value), k);
}

/* Calls fn with each operand and the states that have its values. */
static void visit_operands(struct regalloc *c,
			   void (*fn)(struct regalloc *c, struct sass_operand x, const struct reg_state *states))
{
	for (uint32_t i = 0; i < c->p->n && !c->groups.failed; i++) {
		struct reg_state after[REGS];

		sass_regalloc_apply_insn(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++)
			fn(c, operand(c, i, o), operand(c, i, o).written ? after : states_before(c, i));
	}
}

static void align_operand(struct regalloc *c, struct sass_operand x, const struct reg_state *states)
{
	if (x.n)
		sass_coloring_align(&c->coloring, find_set(c, states[x.reg].value), x.n > 2 ? 4 : x.n);
}

static void find_groups(struct regalloc *c)
{
	for (uint32_t v = 0; v < c->nvalues; v++) {
		sass_groups_add(&c->groups, v);
		c->coloring.phase[v] = c->old_reg[v];
	}
	visit_operands(c, join_operand);
	visit_operands(c, align_operand);
}

/* -- registers -- */

/* Allocates the stack pointer first, then groups of alignment 4, 2 and 1. */
static void assign_registers(struct regalloc *c, bool stack)
{
	for (uint32_t v = 0; v < c->nvalues && stack; v++)
		if (c->parent[v] == v && c->old_reg[v] == STACK_POINTER)
			sass_coloring_place_at(&c->coloring, v, STACK_POINTER);
	for (unsigned align = 4; align; align /= 2)
		for (uint32_t v = 0; v < c->nvalues; v++)
			if (c->parent[v] == v && c->coloring.align[c->groups.group[v]] == align)
				sass_coloring_place(&c->coloring, v);
}

static void rewrite_insns(struct regalloc *c)
{
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct reg_state after[REGS];
		struct sass_insn to = c->p->insns[i];

		sass_regalloc_apply_insn(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct reg_state *states = x.written ? after : states_before(c, i);

			if (x.n)
				to = sass_with_reg(to, o, c->coloring.reg[find_set(c, states[x.reg].value)]);
		}
		c->p->insns[i] = sass_with_reuse(to, 0);
	}
}

/* -- entry point -- */

static bool is_supported(struct regalloc *c)
{
	bool known = c->p->n && c->p->n <= MAX_INSNS && c->regs && c->regs < SASS_RZ;

	c->nvalues = c->regs;
	for (uint32_t i = 0; i < c->p->n && known; i++) {
		known = sass_regalloc_is_known(c, i);
		for (unsigned o = 0; known && o < SASS_OPERANDS; o++)
			c->nvalues += operand(c, i, o).written ? operand(c, i, o).n : 0;
	}
	return known && c->nvalues < NONE;
}

static int allocate(struct regalloc *c)
{
	size_t states = (size_t)c->p->n * c->regs;

	c->states = calloc(states, sizeof(*c->states));
	c->defined = calloc(states, sizeof(*c->defined));
	c->parent = calloc(c->nvalues, sizeof(*c->parent));
	c->old_reg = calloc(c->nvalues, sizeof(*c->old_reg));
	c->groups.group = calloc(c->nvalues, sizeof(*c->groups.group));
	c->groups.next = calloc(c->nvalues, sizeof(*c->groups.next));
	c->groups.at = calloc(c->nvalues, sizeof(*c->groups.at));
	if (!c->states || !c->defined || !c->parent || !c->old_reg || !c->groups.group || !c->groups.next || !c->groups.at)
		return -ENOMEM;
	return sass_coloring_begin(&c->coloring, &c->groups, c->nvalues, c->regs);
}

static void release(struct regalloc *c)
{
	sass_liveness_finish(&c->live);
	sass_cfg_finish(&c->cfg);
	sass_coloring_finish(&c->coloring);
	free(c->states);
	free(c->defined);
	free(c->parent);
	free(c->old_reg);
	free(c->groups.group);
	free(c->groups.next);
	free(c->groups.at);
}

/* Computes interference and groups, colors them, and rewrites the probe if it then needs fewer registers. */
static void color_and_rewrite(struct regalloc *c, bool stack)
{
	for (uint32_t i = 0; i < c->p->n; i++)
		find_interference(c, i);
	find_groups(c);
	if (!c->groups.failed)
		assign_registers(c, stack);
	if (!c->groups.failed && !c->coloring.failed && c->coloring.regs < c->regs)
		rewrite_insns(c);
}

int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame)
{
	struct regalloc c = { .arch = arch, .p = probe, .regs = probe->regs, .groups.max_at = REGS };
	int err;

	if (!probe->diverges || !is_supported(&c)) /* sass_schedule() handles straight-line code */
		return 0;
	err = allocate(&c);
	if (!err)
		err = sass_cfg_of_probe(&c.cfg, arch, probe->insns, probe->n);
	if (!err)
		err = sass_liveness_find(&c.cfg, (struct sass_insns){ probe->insns, sizeof(*probe->insns) }, false,
					 &c.live);
	if (!err)
		err = sass_regalloc_find_states(&c);
	if (!err)
		color_and_rewrite(&c, frame);
	release(&c);
	return err;
}
