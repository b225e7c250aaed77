/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     allocates registers to groups of values, and allocates predicates.
 * Before:   sass_schedule_assign_boards() has set the position of the wait for each slow node.
 * After:    s->coloring has the register of each value, and s->predicate the number of each predicate.
 * Requires: s->order is final.
 */
#include "schedule_work.h"

/* Finds the alignment of each group. The lowest value of a group is at a multiple of it. */
static void find_alignment(struct schedule *s)
{
	int16_t low[MAX_VALUES];

	memset(low, 0x7f, sizeof(low));
	for (uint16_t v = 0; v < s->v.n; v++)
		if (s->v.at[v] < low[s->v.group[v]])
			low[s->v.group[v]] = s->v.at[v];
	for (uint16_t v = 0; v < s->v.n; v++) {
		s->coloring.phase[v] = s->v.at[v] - low[s->v.group[v]];
		s->failed |= s->coloring.phase[v] > 3;
	}
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			uint16_t first = node_at(s, i)->value[o][0];
			unsigned n = node_at(s, i)->n[o];

			if (!n)
				continue;
			s->failed |= n == 3 || s->coloring.phase[first] % n;
			sass_coloring_align(&s->coloring, first, n);
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
static uint32_t find_free_position(struct schedule *s, uint16_t group)
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

/* Is the node known, and must its results therefore be in the registers that an earlier probe has chosen? */
static bool is_fixed(const struct schedule *s, const struct node *node)
{
	return node->live_in && sass_schedule_is_known_and_read(s, node);
}

/* Finds the range of positions in which each group is in use. Results of an earlier probe are in use from the start. */
static void find_ranges(struct schedule *s)
{
	memset(s->first_use, 0xff, sizeof(s->first_use));
	for (uint32_t i = s->norder; i--;)
		for (unsigned o = 0; o < SASS_OPERANDS; o++)
			if (node_at(s, i)->n[o])
				s->first_use[s->v.group[node_at(s, i)->value[o][0]]] = i;
	for (uint32_t i = 0; i < s->n; i++)
		if (is_fixed(s, &s->nodes[i]))
			s->first_use[s->v.group[s->nodes[i].value[0][0]]] = 0;
	for (uint16_t v = 0; v < s->v.n; v++)
		s->free_at[v] = s->first_use[v] == UINT32_MAX ? 0 : find_free_position(s, v);
}

/* Two values interfere if the ranges of their groups overlap. */
static void find_interference(struct schedule *s)
{
	for (uint16_t a = 0; a < s->v.n; a++)
		for (uint16_t b = 0; b < a; b++) {
			uint16_t g = s->v.group[a], h = s->v.group[b];

			if (g != h && s->free_at[g] >= s->first_use[h] && s->free_at[h] >= s->first_use[g])
				sass_coloring_interfere(&s->coloring, a, b);
		}
}

/* Places the results of the earlier probe where `pinned` says, then the other groups in the order of their first
 * use. */
static void place_groups(struct schedule *s, const struct sass_pinned_results *pinned)
{
	for (uint32_t i = 0; pinned && i < s->n; i++)
		if (is_fixed(s, &s->nodes[i]))
			sass_coloring_place_at(&s->coloring, s->nodes[i].value[0][0], pinned->reg[s->nodes[i].index]);
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++)
			if (node_at(s, i)->n[o])
				sass_coloring_place(&s->coloring, node_at(s, i)->value[o][0]);
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
			s->predicate[v] = next;
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

int sass_schedule_alloc_registers(struct schedule *s, const struct sass_pinned_results *pinned)
{
	int err = sass_coloring_begin(&s->coloring, &s->groups, s->v.n, SASS_RZ - 1);

	if (err < 0)
		return err;
	find_alignment(s);
	find_last(s);
	if (s->failed)
		return 0;
	find_ranges(s);
	find_interference(s);
	place_groups(s, pinned);
	alloc_predicates(s);
	s->failed |= s->coloring.failed;
	return 0;
}
