/* SPDX-License-Identifier: Apache-2.0 */
#include "regalloc_work.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_INSNS 4096             /* maximum number of instructions, so that 16 bits can number all values */
#define STACK_POINTER 1

/* -- interference -- */

static void add_interference(struct regalloc *c, uint16_t a, uint16_t b)
{
	if (c->old_reg[a] == c->old_reg[b])
		return;
	c->interferes[((size_t)a * c->room + b) / 64] |= 1ull << ((size_t)a * c->room + b) % 64;
	c->interferes[((size_t)b * c->room + a) / 64] |= 1ull << ((size_t)b * c->room + a) % 64;
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

/* Joins the groups of a and b so that the register of b is `off` after the register of a. Sets c->failed if the two
 * are joined with another distance already. */
static void join_groups(struct regalloc *c, uint16_t a, uint16_t b, int off)
{
	uint16_t ga = c->group[a], gb = c->group[b];
	int shift = c->at[a] + off - c->at[b];

	if (ga == gb) {
		c->failed |= shift != 0;
		return;
	}
	for (uint16_t v = gb, last = NONE; v != NONE; v = c->next[v]) {
		c->group[v] = ga;
		c->at[v] += shift;
		if (c->next[v] == NONE)
			last = v;
		if (last != NONE) {
			c->next[last] = c->next[ga];
			c->next[ga] = gb;
			break;
		}
	}
	c->align[ga] = c->align[ga] > c->align[gb] ? c->align[ga] : c->align[gb];
}

static void find_groups(struct regalloc *c)
{
	for (uint32_t v = 0; v < c->nvalues; v++) {
		c->group[v] = v;
		c->at[v] = 0;
		c->next[v] = NONE;
		c->align[v] = 1;
	}
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct reg_state after[REGS];

		sass_regalloc_apply_insn(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct reg_state *states = x.written ? after : states_before(c, i);
			unsigned wide = x.n > 2 ? 4 : x.n;

			for (unsigned k = 0; k < x.n; k++)
				c->failed |= states[x.reg + k].value == NONE;
			if (c->failed)
				return;
			for (unsigned k = 1; k < x.n; k++)
				join_groups(c, find_set(c, states[x.reg].value), find_set(c, states[x.reg + k].value), k);
			if (x.n && wide > c->align[c->group[find_set(c, states[x.reg].value)]])
				c->align[c->group[find_set(c, states[x.reg].value)]] = wide;
		}
	}
}

/* -- registers -- */

struct assignment {
	uint64_t *occupants; /* occupants[register * words]: set of the values that the register holds, as bits */
	uint32_t words;      /* number of 64-bit words per set */
	bool *placed;        /* placed[group]: the group has registers */
	uint32_t regs;
};

/* Can the group start at register `base`? Pairs and quads must stay aligned. So the new and the old register of each
 * value must have the same remainder modulo the group's alignment. */
static bool is_free_at(const struct regalloc *c, const struct assignment *p, uint16_t group, int base)
{
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		int reg = base + c->at[v];

		if (reg < 0 || reg >= (int)c->regs || reg % c->align[group] != c->old_reg[v] % c->align[group])
			return false;
		for (uint32_t k = 0; k < p->words; k++)
			if (p->occupants[(size_t)reg * p->words + k] & c->interferes[(size_t)v * p->words + k])
				return false;
	}
	return true;
}

static void assign_group(struct regalloc *c, struct assignment *p, uint16_t group, int base)
{
	p->placed[group] = true;
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		c->reg[v] = base + c->at[v];
		p->occupants[(size_t)c->reg[v] * p->words + v / 64] |= 1ull << v % 64;
		if (c->reg[v] >= p->regs)
			p->regs = c->reg[v] + 1;
	}
}

static void assign_lowest(struct regalloc *c, struct assignment *p, uint16_t group)
{
	int base = -(int)c->regs;

	while (base < (int)c->regs && !is_free_at(c, p, group, base))
		base++;
	if (base < (int)c->regs)
		assign_group(c, p, group, base);
	else
		c->failed = true;
}

/* Allocates the stack pointer first, then groups of alignment 4, 2 and 1. */
static void assign_registers(struct regalloc *c, struct assignment *p, bool stack)
{
	for (uint32_t v = 0; v < c->nvalues && stack; v++)
		if (c->parent[v] == v && c->old_reg[v] == STACK_POINTER && !p->placed[c->group[v]])
			assign_group(c, p, c->group[v], STACK_POINTER - c->at[v]);
	for (unsigned wide = 4; wide; wide /= 2)
		for (uint32_t v = 0; v < c->nvalues && !c->failed; v++)
			if (c->parent[v] == v && c->align[c->group[v]] == wide && !p->placed[c->group[v]])
				assign_lowest(c, p, c->group[v]);
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
				to = sass_with_reg(to, o, c->reg[find_set(c, states[x.reg].value)]);
		}
		c->p->insns[i] = sass_with_reuse(to, 0);
	}
}

static int assign_and_rewrite(struct regalloc *c, bool stack)
{
	struct assignment p = { .words = c->room / 64 };

	p.occupants = calloc((size_t)c->regs * p.words, sizeof(*p.occupants));
	p.placed = calloc(c->nvalues, sizeof(*p.placed));
	if (!p.occupants || !p.placed) {
		free(p.occupants);
		free(p.placed);
		return -ENOMEM;
	}
	assign_registers(c, &p, stack);
	if (!c->failed && p.regs < c->regs)
		rewrite_insns(c);
	free(p.occupants);
	free(p.placed);
	return 0;
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
	c->room = (c->nvalues + 63) / 64 * 64;
	return known && c->nvalues < NONE;
}

static int allocate(struct regalloc *c)
{
	size_t states = (size_t)c->p->n * c->regs;

	c->states = calloc(states, sizeof(*c->states));
	c->defined = calloc(states, sizeof(*c->defined));
	c->parent = calloc(c->room, sizeof(*c->parent));
	c->group = calloc(c->room, sizeof(*c->group));
	c->at = calloc(c->room, sizeof(*c->at));
	c->next = calloc(c->room, sizeof(*c->next));
	c->old_reg = calloc(c->room, 3);
	c->interferes = calloc((size_t)c->room * c->room / 64, sizeof(*c->interferes));
	if (!c->states || !c->defined || !c->parent || !c->group || !c->at || !c->next || !c->old_reg || !c->interferes)
		return -ENOMEM;
	c->reg = c->old_reg + c->room;
	c->align = c->reg + c->room;
	return 0;
}

static void release(struct regalloc *c)
{
	sass_liveness_finish(&c->live);
	sass_cfg_finish(&c->cfg);
	free(c->states);
	free(c->defined);
	free(c->parent);
	free(c->group);
	free(c->at);
	free(c->next);
	free(c->old_reg);
	free(c->interferes);
}

int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame)
{
	struct regalloc c = { .arch = arch, .p = probe, .regs = probe->regs };
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
	if (!err) {
		for (uint32_t i = 0; i < probe->n; i++)
			find_interference(&c, i);
		find_groups(&c);
	}
	if (!err && !c.failed)
		err = assign_and_rewrite(&c, frame);
	release(&c);
	return err;
}
