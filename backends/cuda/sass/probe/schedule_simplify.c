/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     removes instructions whose results are known from an earlier probe (`live_in`), copies, early exits and
 *           dead instructions.
 * Before:   sass_schedule_build_nodes() has made the nodes.
 * After:    `removed` marks the nodes that the new code does not contain.
 * Requires: each value has one writer.
 */
#include "schedule_work.h"

/* -- known results -- */

static bool predicates_are_read(const struct schedule *s, const struct node *node)
{
	for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++)
		if (node->predicate[f] != NONE && sass_schedule_is_read(s, node->predicate[f]))
			return true;
	return false;
}

void sass_schedule_apply_known(struct schedule *s, const struct sass_pinned_results *pinned)
{
	bool again = true;

	for (uint32_t i = 0; i < s->n; i++)
		s->nodes[i].removed = s->nodes[i].live_in = pinned->live_in[s->nodes[i].index] && s->nodes[i].n[0];
	while (again) {
		again = false;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->nodes[i].live_in && predicates_are_read(s, &s->nodes[i])) {
				s->nodes[i].removed = s->nodes[i].live_in = false;
				again = true;
			}
	}
}

bool sass_schedule_is_known_and_read(const struct schedule *s, const struct node *node)
{
	for (unsigned k = 0; node->live_in && k < node->n[0]; k++)
		if (sass_schedule_is_read(s, node->value[0][k]))
			return true;
	return false;
}

/* -- fewer instructions -- */

/* Removes each copy whose result can share the register of its source. The joined group must not have two different
 * values in one register. */
static void join_copies(struct schedule *s)
{
	for (uint32_t i = 0; i < s->n && !s->failed; i++) {
		struct node *node = &s->nodes[i];
		int from = sass_copied_operand(node->insn);
		struct values before = s->v;
		uint16_t a, b;

		if (from < 0 || node->removed || node->predicate[SASS_P_GUARD] != NONE)
			continue;
		a = node->value[from][0];
		b = node->value[0][0];
		sass_groups_join(&s->groups, a, b, 0);
		for (uint16_t v = 0; v < s->v.n; v++)
			if (s->v.same[v] == before.same[b])
				s->v.same[v] = before.same[a];
		node->removed = !s->groups.failed && !sass_schedule_has_collision(&s->v);
		if (!node->removed)
			s->v = before;
		s->groups.failed = false;
	}
}

/* Removes instructions without side effect whose results no remaining node reads. Removes dead predicate results of
 * the other instructions. */
static void drop_dead(struct schedule *s)
{
	for (uint32_t i = s->n; i--;) {
		struct node *node = &s->nodes[i];
		bool used = node->has_side_effect || node->removed || node->live_out;

		for (unsigned k = 0; k < node->n[0]; k++)
			used |= sass_schedule_is_read(s, node->value[0][k]);
		for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++) {
			bool read = node->predicate[f] != NONE && sass_schedule_is_read(s, node->predicate[f]);

			used |= read;
			node->predicate[f] = read ? node->predicate[f] : NONE;
		}
		node->removed |= !used;
	}
}

/* Removes the early EXIT. Guards the memory operations after it with the negated predicate of the EXIT, so that the
 * warp stays converged (if-conversion). */
static void predicate_early_exit(struct schedule *s)
{
	struct node *end = NULL;

	for (uint32_t i = 0; i + 1 < s->n; i++) {
		struct node *node = &s->nodes[i];
		enum sass_class class = sass_op(node->insn)->class;

		if (node->removed)
			continue;
		if (class == SASS_EXIT && end)
			return;
		if (class == SASS_EXIT)
			end = node;
		else if (end && node->has_side_effect && !sass_reads_clock(node->insn) &&
			 ((class != SASS_STORE && class != SASS_LOAD) || node->predicate[SASS_P_GUARD] != NONE))
			return;
	}
	if (!end)
		return;
	for (struct node *node = end + 1; node + 1 < s->nodes + s->n; node++) {
		if (!node->has_side_effect || sass_reads_clock(node->insn))
			continue;
		node->predicate[SASS_P_GUARD] = end->predicate[SASS_P_GUARD];
		node->insn = sass_with_guard(node->insn, (node->insn.guard & SASS_PT) | (~end->insn.guard & SASS_NEGATED));
	}
	end->removed = true;
}

void sass_schedule_simplify(struct schedule *s)
{
	join_copies(s);
	predicate_early_exit(s);
	drop_dead(s);
}
