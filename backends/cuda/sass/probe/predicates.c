/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the uniform predicates of a probe to lane predicates. A set of predicates has the lane predicates in bits 0..6
 * and the uniform ones from bit UNIFORM on.
 *
 * Does:     computes the live predicates by backward data flow and colors the uniform ones.
 * Before:   the lines of the probe are open, with targets.
 * After:    w->live has the live set before each line; w->predicate maps each uniform predicate to a lane predicate.
 * Requires: sass_work_branch_successor() and sass_work_get_target() list all edges except the fall-through.
 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#define UNIFORM SASS_WARPS

uint32_t sass_work_branch_successor(const struct work *w, uint32_t i)
{
	uint32_t to = w->lines[i].target;
	struct sass_insn insn = w->lines[i].insn;

	if (sass_opcode(insn) == SASS_OP_BSSY && to && to != SASS_NONE &&
	    sass_opcode(w->lines[to - 1].insn) == SASS_OP_BSYNC &&
	    sass_field(w->lines[to - 1].insn, 16, 4) == sass_field(insn, 16, 4))
		return SASS_NONE;
	return to;
}

/* Returns the set of predicates that are live after line i. It includes those of line i + 1 even if control does not
 * fall through, which is safe. */
static unsigned live_after(const struct work *w, uint32_t i)
{
	unsigned after = i + 1 < w->n ? w->live[i + 1] : 0;

	if (sass_work_branch_successor(w, i) != SASS_NONE)
		after |= w->live[sass_work_branch_successor(w, i)];
	for (uint32_t k = 0; k < sass_work_count_targets(w, i); k++)
		after |= w->live[sass_work_get_target(w, i, k)];
	return after;
}

static unsigned live_before(const struct work *w, uint32_t i)
{
	const struct line *line = &w->lines[i];
	unsigned written = sass_field(line->insn, 12, 4) == SASS_PT ? sass_predicates_written(line->insn) : 0;

	return (live_after(w, i) & ~written) | sass_predicates_read(line->insn);
}

/* Propagates the set of predicates that may have been written from line i to its successors. Returns true if a
 * successor's set grew. */
static bool propagate_written(const struct work *w, uint32_t i, uint16_t *written)
{
	unsigned after = written[i] | sass_predicates_written(w->lines[i].insn);
	uint32_t to[] = { i + 1, sass_work_branch_successor(w, i) };
	bool more = false;

	for (size_t k = 0; k < sizeof(to) / sizeof(*to); k++)
		if (to[k] < w->n && after & ~written[to[k]]) {
			written[to[k]] |= after;
			more = true;
		}
	for (uint32_t k = 0; k < sass_work_count_targets(w, i); k++)
		if (after & ~written[sass_work_get_target(w, i, k)]) {
			written[sass_work_get_target(w, i, k)] |= after;
			more = true;
		}
	return more;
}

/* Removes predicates from the live sets where no path has written them. Liveness alone keeps them: a guarded write
 * does not end a live range. */
static int drop_unwritten(struct work *w)
{
	uint16_t *written = calloc(w->n + 1, sizeof(*written));
	bool changed = true;

	if (!written)
		return -ENOMEM;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < w->n; i++)
			changed |= propagate_written(w, i, written);
	}
	for (uint32_t i = 0; i < w->n; i++)
		w->live[i] &= written[i];
	free(written);
	return 0;
}

static void find_live(struct work *w)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = w->n; i--;) {
			unsigned now = live_before(w, i);

			changed |= now != w->live[i];
			w->live[i] = now;
		}
	}
}

/* Returns the predicates that interfere with uniform predicate u: those live or written where u is live or written. */
static unsigned find_interfering(const struct work *w, unsigned u)
{
	unsigned interfering = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		unsigned after = live_after(w, i) | sass_predicates_written(w->lines[i].insn);

		if (w->live[i] >> (UNIFORM + u) & 1)
			interfering |= w->live[i];
		if (after >> (UNIFORM + u) & 1)
			interfering |= after;
	}
	return interfering;
}

static int highest_free(unsigned used)
{
	int p = PREDICATES;

	while (p-- && used >> p & 1)
		;
	return p;
}

/* Returns the lane predicates that must not replace u: they interfere with u, or already replace a uniform predicate
 * that does. */
static unsigned find_excluded(const struct work *w, unsigned u)
{
	unsigned interfering = find_interfering(w, u), excluded = interfering;

	for (unsigned v = 0; v < u; v++)
		if (interfering >> (UNIFORM + v) & 1)
			excluded |= 1u << w->predicate[v];
	return excluded;
}

int sass_work_map_predicates(struct work *w)
{
	unsigned named = 0;
	int err;

	w->live = calloc(w->n + 1, sizeof(*w->live));
	if (!w->live)
		return -ENOMEM;
	find_live(w);
	err = drop_unwritten(w);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < w->n; i++)
		named |= sass_predicates_read(w->lines[i].insn) | sass_predicates_written(w->lines[i].insn);
	for (unsigned u = 0; u < PREDICATES; u++) {
		int p = named >> (UNIFORM + u) & 1 ? highest_free(find_excluded(w, u)) : SASS_PT;

		if (p < 0)
			return sass_work_refuse(w, "needs more predicates than there are");
		w->predicate[u] = p;
	}
	w->predicate[SASS_PT] = SASS_PT;
	return 0;
}

int sass_work_free_predicate(const struct work *w, uint32_t i)
{
	unsigned used = w->live[i];

	for (unsigned u = 0; u < PREDICATES; u++)
		if (w->live[i] >> (UNIFORM + u) & 1)
			used |= 1u << w->predicate[u];
	return highest_free(used);
}
