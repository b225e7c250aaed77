/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     makes a node of each instruction of a straight-line probe, with values instead of registers.
 * Before:   the probe has no uniform operations.
 * After:    each value has one writer, and no two values of a group have the same register. If this is not possible,
 *           s->failed is set.
 * Requires: sass_schedule_is_straight() is true for the probe.
 */
#include "schedule_work.h"

static uint16_t add_value(struct schedule *s)
{
	uint16_t v = s->v.n;

	if (v == MAX_VALUES) {
		s->failed = true;
		return 0;
	}
	s->v.n++;
	sass_groups_add(&s->groups, v);
	s->v.same[v] = v;
	s->v.writers[v] = 0;
	return v;
}

bool sass_schedule_has_collision(const struct values *v)
{
	for (uint16_t a = 0; a < v->n; a++)
		for (uint16_t b = 0; b < a; b++)
			if (v->group[a] == v->group[b] && v->at[a] == v->at[b] && v->same[a] != v->same[b])
				return true;
	return false;
}

/* Replaces the registers of operand o by the values that they hold. A destination gets a new value, and so does a
 * source that no earlier instruction has written. */
static void rename_operand(struct schedule *s, struct node *node, unsigned o, uint16_t current[256])
{
	struct sass_operand x = node->insn.operand[o];
	bool writes = o == 0, unguarded = (node->insn.guard & SASS_PT) == SASS_PT;

	node->n[o] = x.n;
	for (unsigned k = 0; k < x.n; k++) {
		uint16_t *at = &current[(x.reg + k) & 255];

		if (*at == NONE || (writes && unguarded))
			*at = add_value(s);
		s->v.writers[*at] += writes;
		node->value[o][k] = *at;
		if (k)
			sass_groups_join(&s->groups, node->value[o][0], *at, k);
	}
}

/* Replaces predicates of the instruction by the values that they hold. If `written` is true, these are the predicates
 * that the instruction writes; otherwise the predicates that it reads. */
static void rename_predicates(struct schedule *s, struct node *node, uint16_t current[PREDICATES], bool written)
{
	int fields = sass_predicate_fields(node->insn);
	bool unguarded = (node->insn.guard & SASS_PT) == SASS_PT;

	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned p = sass_predicate(node->insn, f);

		if ((f >= SASS_P_OUT) != written)
			continue;
		node->predicate[f] = NONE;
		if (!(fields >> f & 1) || p == SASS_PT)
			continue;
		if (current[p] == NONE || (written && unguarded))
			current[p] = add_value(s);
		s->v.writers[current[p]] += written;
		node->predicate[f] = current[p];
	}
}

bool sass_schedule_is_straight(const struct sass_probe *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct sass_insn insn = p->insns[i];
		bool end = sass_opcode(insn) == SASS_OP_EXIT, last = i + 1 == p->n;
		bool never = insn.guard == (SASS_PT | 8);

		if (!sass_form(insn) || sass_predicate_fields(insn) < 0 || never || (end && insn.in != SASS_PT) ||
		    (end && sass_is_unconditional(insn)) != last)
			return false;
	}
	return p->n && p->n <= SASS_STRAIGHT_MAX_INSNS;
}

void sass_schedule_build_nodes(struct schedule *s, const struct sass_probe *p)
{
	uint16_t current[256], current_predicates[PREDICATES];

	s->groups = (struct sass_groups){ s->v.group, s->v.next, s->v.at, .max_at = MAX_DISTANCE };
	memset(current, 0xff, sizeof(current));
	memset(current_predicates, 0xff, sizeof(current_predicates));
	for (uint32_t i = 0; i < p->n; i++) {
		struct node *node = &s->nodes[s->n];

		if (sass_opcode(p->insns[i]) == SASS_OP_NOP)
			continue;
		*node = (struct node){ .insn = p->insns[i],
				       .index = i,
				       .has_side_effect = sass_has_side_effect(p->insns[i]),
				       .slow = sass_is_slow(p->insns[i]) };
		for (unsigned o = SASS_OPERANDS; o--;)
			rename_operand(s, node, o, current);
		rename_predicates(s, node, current_predicates, false);
		rename_predicates(s, node, current_predicates, true);
		s->n++;
	}
	for (uint16_t v = 0; v < s->v.n; v++)
		s->failed |= s->v.writers[v] > 1;
	s->failed |= s->groups.failed || sass_schedule_has_collision(&s->v);
}

/* -- uses of values -- */

bool sass_schedule_reads(const struct schedule *s, const struct node *node, uint16_t v)
{
	for (unsigned o = 1; o < SASS_OPERANDS; o++)
		for (unsigned k = 0; k < node->n[o]; k++)
			if (s->v.same[node->value[o][k]] == v)
				return true;
	for (unsigned f = 0; f < SASS_P_OUT; f++)
		if (node->predicate[f] != NONE && s->v.same[node->predicate[f]] == v)
			return true;
	return false;
}

bool sass_schedule_is_read(const struct schedule *s, uint16_t v)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->nodes[i].removed && sass_schedule_reads(s, &s->nodes[i], s->v.same[v]))
			return true;
	return false;
}
