/* SPDX-License-Identifier: Apache-2.0 */
#include "coloring.h"

#include <errno.h>
#include <stdlib.h>

/* -- groups -- */

void sass_groups_add(struct sass_groups *g, uint16_t v)
{
	g->group[v] = v;
	g->next[v] = SASS_NO_VALUE;
	g->at[v] = 0;
}

void sass_groups_join(struct sass_groups *g, uint16_t a, uint16_t b, int off)
{
	uint16_t to = g->group[a], from = g->group[b], last = from;
	int shift = g->at[a] + off - g->at[b];

	if (to == from) {
		g->failed |= shift != 0;
		return;
	}
	for (uint16_t v = from; v != SASS_NO_VALUE; v = g->next[v]) {
		g->group[v] = to;
		g->at[v] += shift;
		g->failed |= abs(g->at[v]) > g->max_at;
		last = v;
	}
	g->next[last] = g->next[to];
	g->next[to] = from;
}

/* -- coloring -- */

int sass_coloring_begin(struct sass_coloring *c, const struct sass_groups *groups, uint32_t n, uint32_t limit)
{
	*c = (struct sass_coloring){ .groups = groups, .n = n, .words = n / 64 + 1, .limit = limit };
	c->reg = calloc(n + 1, 3);
	c->placed = calloc(n + 1, sizeof(*c->placed));
	c->interferes = calloc((size_t)(n + limit) * c->words, sizeof(*c->interferes));
	if (!c->reg || !c->placed || !c->interferes)
		return -ENOMEM;
	c->align = c->reg + n;
	c->phase = c->align + n;
	c->occupants = c->interferes + (size_t)n * c->words;
	for (uint32_t v = 0; v < n; v++)
		c->align[v] = 1;
	return 0;
}

void sass_coloring_finish(struct sass_coloring *c)
{
	free(c->reg);
	free(c->placed);
	free(c->interferes);
	*c = (struct sass_coloring){ 0 };
}

void sass_coloring_align(struct sass_coloring *c, uint16_t v, unsigned align)
{
	uint8_t *of_group = &c->align[c->groups->group[v]];

	*of_group = *of_group > align ? *of_group : align;
}

static void add_bit(uint64_t *set, uint32_t bit)
{
	set[bit / 64] |= 1ull << bit % 64;
}

void sass_coloring_interfere(struct sass_coloring *c, uint16_t a, uint16_t b)
{
	add_bit(c->interferes + (size_t)a * c->words, b);
	add_bit(c->interferes + (size_t)b * c->words, a);
}

static bool is_free_for(const struct sass_coloring *c, uint16_t v, int reg)
{
	const uint64_t *others = c->interferes + (size_t)v * c->words, *there = c->occupants + (size_t)reg * c->words;

	for (uint32_t k = 0; k < c->words; k++)
		if (there[k] & others[k])
			return false;
	return true;
}

/* Can the group begin at register `base`? Pairs and quads must stay aligned. */
static bool is_free_at(const struct sass_coloring *c, uint16_t group, int base)
{
	for (uint16_t v = group; v != SASS_NO_VALUE; v = c->groups->next[v]) {
		int reg = base + c->groups->at[v];

		if (reg < 0 || reg >= (int)c->limit || reg % c->align[group] != c->phase[v] % c->align[group] ||
		    !is_free_for(c, v, reg))
			return false;
	}
	return true;
}

static void assign_group(struct sass_coloring *c, uint16_t group, int base)
{
	c->placed[group] = true;
	for (uint16_t v = group; v != SASS_NO_VALUE; v = c->groups->next[v]) {
		c->reg[v] = base + c->groups->at[v];
		add_bit(c->occupants + (size_t)c->reg[v] * c->words, v);
		if (c->reg[v] >= c->regs)
			c->regs = c->reg[v] + 1;
	}
}

void sass_coloring_place_at(struct sass_coloring *c, uint16_t v, int reg)
{
	uint16_t group = c->groups->group[v];
	int base = reg - c->groups->at[v];

	if (c->placed[group])
		c->failed |= c->reg[v] != reg;
	else if (is_free_at(c, group, base))
		assign_group(c, group, base);
	else
		c->failed = true;
}

void sass_coloring_place(struct sass_coloring *c, uint16_t v)
{
	uint16_t group = c->groups->group[v];
	int base = -(int)c->limit;

	if (c->placed[group] || c->failed)
		return;
	while (base < (int)c->limit && !is_free_at(c, group, base))
		base++;
	if (base < (int)c->limit)
		assign_group(c, group, base);
	else
		c->failed = true;
}
