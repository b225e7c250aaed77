/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     allocates registers to groups of values, and allocates predicates.
 * Before:   sass_schedule_assign_boards() has set the position of the wait for each slow node.
 * After:    s->reg has the first register of each group and the number of each predicate.
 * Requires: s->order is final.
 */
#include "schedule_work.h"

/* Shifts the offsets in each group so that the lowest offset is 0. Finds the alignment of each group. */
static void find_groups(struct schedule *s)
{
	int8_t low[MAX_VALUES];

	memset(low, 0x7f, sizeof(low));
	for (uint16_t v = 0; v < s->v.n; v++)
		if (s->v.at[v] < low[s->v.group[v]])
			low[s->v.group[v]] = s->v.at[v];
	for (uint16_t v = 0; v < s->v.n; v++) {
		s->v.at[v] -= low[s->v.group[v]];
		s->failed |= s->v.at[v] > 3;
		s->wide[v] = 1;
	}
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			uint16_t first = node_at(s, i)->value[o][0];
			unsigned n = node_at(s, i)->n[o];

			if (!n)
				continue;
			s->failed |= n == 3 || s->v.at[first] % n;
			if (n > s->wide[s->v.group[first]])
				s->wide[s->v.group[first]] = n;
		}
}

static bool uses(const struct schedule *s, const struct node *node, uint16_t group)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		for (unsigned k = 0; k < node->n[o]; k++)
			if (s->v.group[node->value[o][k]] == group)
				return true;
	return false;
}

static bool uses_result(const struct schedule *s, const struct node *node, uint16_t group)
{
	return node->n[0] && s->v.group[node->value[0][0]] == group;
}

/* Returns the last position that uses the group: the last access, or the wait for the last slow access. Returns
 * UINT32_MAX if the group is in use to the end of the probe. This is so for a slow access without a wait, a value
 * that no node reads, and a result that is live out. */
static uint32_t free_position(struct schedule *s, uint16_t group)
{
	uint32_t last_use = 0;

	for (uint32_t i = 0; i < s->norder; i++) {
		struct node *node = node_at(s, i);

		if (!uses(s, node, group))
			continue;
		if (node->slow && !node->first_wait)
			return UINT32_MAX;
		last_use = node->slow && node->first_wait > i ?
				   (node->first_wait > last_use ? node->first_wait : last_use) :
			   i > last_use ? i :
					  last_use;
	}
	for (uint16_t v = 0; v < s->v.n; v++)
		if (s->v.group[v] == group && !sass_schedule_is_read(s, v))
			return UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->nodes[i].live_out && uses_result(s, &s->nodes[i], group))
			return UINT32_MAX;
	return last_use;
}

static void measure_groups(struct schedule *s)
{
	for (uint16_t v = 0; v < s->v.n; v++) {
		uint16_t g = s->v.group[v];

		if (s->v.at[v] + 1 > s->size[g])
			s->size[g] = s->v.at[v] + 1;
		s->free_at[v] = g == v ? free_position(s, g) : 0;
	}
}

static bool is_free_at(const struct schedule *s, unsigned reg, unsigned size, uint32_t index, const bool *placed)
{
	for (uint16_t g = 0; g < s->v.n; g++)
		if (placed[g] && s->reg[g] < reg + size && reg < (unsigned)s->reg[g] + s->size[g] && s->free_at[g] >= index)
			return false;
	return true;
}

/* Gives the groups of `live_in` results the registers that `pinned` prescribes. */
static void place_known(struct schedule *s, const struct sass_pinned_results *pinned, bool *placed)
{
	for (uint32_t i = 0; pinned && i < s->n; i++) {
		struct node *node = &s->nodes[i];
		uint16_t g = node->n[0] ? s->v.group[node->value[0][0]] : 0;
		int reg = node->live_in && sass_schedule_is_known_and_read(s, node) ?
				  pinned->reg[node->index] - s->v.at[node->value[0][0]] :
				  -1;

		if (!node->live_in || !sass_schedule_is_known_and_read(s, node))
			continue;
		s->failed |= reg < 0 || reg % s->wide[g] ||
			     (placed[g] ? s->reg[g] != reg : !is_free_at(s, reg, s->size[g], 0, placed));
		s->reg[g] = reg < 0 ? 0 : reg;
		placed[g] = true;
		s->regs = reg + s->size[g] > (int)s->regs ? (uint32_t)reg + s->size[g] : s->regs;
	}
}

static void alloc_registers(struct schedule *s, const struct sass_pinned_results *pinned)
{
	bool placed[MAX_VALUES] = { false };

	place_known(s, pinned, placed);
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			uint16_t g = s->v.group[node_at(s, i)->value[o][0]];
			unsigned size = s->size[g], reg = 0;

			if (!node_at(s, i)->n[o] || placed[g])
				continue;
			while (reg + size < SASS_RZ && !is_free_at(s, reg, size, i, placed))
				reg += s->wide[g];
			s->reg[g] = reg;
			placed[g] = true;
			if (reg + size > s->regs)
				s->regs = reg + size;
		}
}

/* Allocates predicates round robin, so that a write completes long before the next write of the same predicate. */
static void alloc_predicates(struct schedule *s)
{
	uint16_t held[PREDICATES];
	unsigned next = 0;

	memset(held, 0xff, sizeof(held));
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++) {
			uint16_t v = node_at(s, i)->predicate[f];
			unsigned tried = 0;

			if (v == NONE)
				continue;
			for (; tried < PREDICATES; tried++, next = (next + 1) % PREDICATES)
				if (held[next] == NONE || s->last[held[next]] < i)
					break;
			s->failed |= tried == PREDICATES;
			held[next] = v;
			s->reg[v] = next;
			next = (next + 1) % PREDICATES;
		}
}

static void find_last(struct schedule *s)
{
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
			if (node_at(s, i)->predicate[f] != NONE)
				s->last[node_at(s, i)->predicate[f]] = i;
}

void sass_schedule_alloc_registers(struct schedule *s, const struct sass_pinned_results *pinned)
{
	find_groups(s);
	find_last(s);
	if (s->failed)
		return;
	measure_groups(s);
	alloc_registers(s, pinned);
	alloc_predicates(s);
}
