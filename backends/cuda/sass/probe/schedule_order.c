/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     orders the nodes. Each begins as early as its operands allow. Among several such nodes, the node with the
 *           longest path to the end of the probe goes first.
 * Before:   sass_schedule_simplify() has marked removed nodes.
 * After:    s->order lists the nodes that are not removed, in their new order.
 * Requires: only instructions that sass_predicate_fields() accepts, because their latencies are known.
 */
#include "schedule_work.h"

#define MAX_FIXED_CYCLES 15        /* cycles; more than every fixed latency in a probe */
#define SCOREBOARD_CYCLES 2        /* cycles from the issue of an instruction until another can wait for its
                                    * scoreboard */

/* -- latencies -- */

/* Returns the fixed latency of a result in cycles: the longest latency that compilers assume on any architecture. */
static unsigned compute_result_time(const struct schedule *s, const struct node *writer, const struct node *reader)
{
	if (sass_is(writer->insn, SASS_OPERATION_CS2R))
		return s->arch->sm < 90 ? MAX_FIXED_CYCLES : 10;
	if (sass_has(writer->insn, SASS_HALVES))
		return 10;
	return reader->slow ? 8 : 6;
}

static unsigned compute_predicate_time(const struct schedule *s, const struct node *writer, const struct node *reader,
				       unsigned field)
{
	bool sum = sass_has(writer->insn, SASS_MAKES_CARRY) && sass_has(reader->insn, SASS_CARRIES);

	if (field && sum)
		return 6;
	return field && s->arch->sm >= 90 ? 8 : sass_predicate_cycles(writer->insn);
}

/* Returns an estimated latency in cycles of a slow instruction, whose real latency varies. */
static unsigned get_slow_time(const struct node *node)
{
	switch (sass_op(node->insn)->class) {
	case SASS_LOAD:
	case SASS_STORE:
		return 600;
	default:
		return sass_has(node->insn, SASS_SHORT) ? 18 : 30;
	}
}

unsigned sass_schedule_distance(const struct schedule *s, const struct node *a, const struct node *b, bool real)
{
	bool clock = sass_reads_clock(a->insn) || sass_reads_clock(b->insn);
	bool end = sass_opcode(a->insn) == SASS_OP_EXIT || sass_opcode(b->insn) == SASS_OP_EXIT;
	bool last = b == &s->nodes[s->n - 1];
	unsigned most = last || (a->has_side_effect && b->has_side_effect && !(clock && end)) ? 1 : 0;

	for (unsigned k = 0; k < a->n[0]; k++) {
		unsigned time = a->slow ? (real ? SCOREBOARD_CYCLES : get_slow_time(a)) : compute_result_time(s, a, b);

		if (sass_schedule_reads(s, b, s->v.same[a->value[0][k]]) && time > most)
			most = time;
	}
	for (unsigned out = SASS_P_OUT; out < SASS_PREDICATE_FIELDS; out++)
		for (unsigned in = 0; in < SASS_P_OUT; in++)
			if (a->predicate[out] != NONE && a->predicate[out] == b->predicate[in] &&
			    compute_predicate_time(s, a, b, in) > most)
				most = compute_predicate_time(s, a, b, in);
	return most;
}

static void find_heights(struct schedule *s)
{
	for (uint32_t i = s->n; i--;)
		for (uint32_t j = i + 1; j < s->n; j++) {
			unsigned d = s->nodes[i].removed || s->nodes[j].removed ?
					     0 :
					     sass_schedule_distance(s, &s->nodes[i], &s->nodes[j], false);

			s->latency[i][j] = d;
			if (d && s->nodes[j].height + d > s->nodes[i].height)
				s->nodes[i].height = s->nodes[j].height + d;
		}
}

/* Returns the first cycle in which node j can begin. Returns UINT32_MAX if a node on which j depends has not begun. */
static uint32_t compute_ready_time(const struct schedule *s, const uint32_t *began, uint32_t j)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < j; i++) {
		unsigned d = s->latency[i][j];

		if (d && began[i] == UINT32_MAX)
			return UINT32_MAX;
		if (d && began[i] + d > at)
			at = began[i] + d;
	}
	return at;
}

/* Does node a precede node b if both can begin? The node with the longer path to the end goes first. But a read of
 * the clock precedes all other nodes, because its fixed latency then passes while slow results are outstanding. */
static bool precedes(const struct schedule *s, uint32_t a, uint32_t b)
{
	bool clock = sass_reads_clock(s->nodes[a].insn);

	return clock != sass_reads_clock(s->nodes[b].insn) ? clock : s->nodes[a].height > s->nodes[b].height;
}

/* Chooses the node that can begin soonest, not before cycle `now`. precedes() decides between nodes that can begin
 * in the same cycle. Sets *when to that cycle. */
static uint32_t choose_node(const struct schedule *s, const uint32_t *began, uint32_t now, uint32_t *when)
{
	uint32_t best = SASS_STRAIGHT_MAX_INSNS, best_at = UINT32_MAX;

	for (uint32_t j = 0; j < s->n; j++) {
		uint32_t at = s->nodes[j].removed || began[j] != UINT32_MAX ? UINT32_MAX : compute_ready_time(s, began, j);

		if (at == UINT32_MAX)
			continue;
		at = at < now ? now : at;
		if (best == SASS_STRAIGHT_MAX_INSNS || at < best_at || (at == best_at && precedes(s, j, best))) {
			best = j;
			best_at = at;
		}
	}
	*when = best_at;
	return best;
}

void sass_schedule_find_order(struct schedule *s)
{
	uint32_t began[SASS_STRAIGHT_MAX_INSNS], now = 0, j;

	memset(began, 0xff, sizeof(began));
	find_heights(s);
	while ((j = choose_node(s, began, now, &now)) < SASS_STRAIGHT_MAX_INSNS) {
		began[j] = now++;
		s->order[s->norder++] = j;
	}
}
