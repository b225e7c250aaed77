/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the uniform predicates of a probe to lane predicates. A set of predicates has the lane predicates in bits 0..6
 * and the uniform predicates from bit UNIFORM on.
 *
 * Does:     chooses a lane predicate for each uniform predicate, by graph coloring of their live ranges.
 * Before:   the lines of the probe are open, with their control-flow graph.
 * After:    w->live has the live set before each line. w->predicate maps each uniform predicate to a lane predicate.
 * Requires: w->cfg has all edges of the lines.
 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#define UNIFORM SASS_WARPS

static unsigned get_live_before(const struct work *w, uint32_t i)
{
	return sass_set_predicates(&w->live.in[i]);
}

static unsigned get_live_after(const struct work *w, uint32_t i)
{
	struct sass_set set = sass_live_out(&w->live, i);

	return sass_set_predicates(&set);
}

/* Returns the predicates that interfere with uniform predicate u. They are live or written at a line where u is live
 * or written. */
static unsigned find_interfering(const struct work *w, unsigned u)
{
	unsigned interfering = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		unsigned after = get_live_after(w, i) | sass_predicates_written(w->lines[i].insn);

		if (get_live_before(w, i) >> (UNIFORM + u) & 1)
			interfering |= get_live_before(w, i);
		if (after >> (UNIFORM + u) & 1)
			interfering |= after;
	}
	return interfering;
}

static int find_highest_free(unsigned used)
{
	int p = PREDICATES;

	while (p-- && used >> p & 1)
		;
	return p;
}

/* Returns the lane predicates that must not replace u. They interfere with u, or they already replace a uniform
 * predicate that interferes with u. */
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

	/* `true`: only predicates that have been written count as live. Otherwise a predicate would be live from the
	 * start of the probe if all its writes are guarded. */
	err = sass_liveness_find(&w->cfg, (struct sass_insns){ &w->lines->insn, sizeof(*w->lines) }, true, &w->live);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < w->n; i++)
		named |= sass_predicates_read(w->lines[i].insn) | sass_predicates_written(w->lines[i].insn);
	for (unsigned u = 0; u < PREDICATES; u++) {
		int p = named >> (UNIFORM + u) & 1 ? find_highest_free(find_excluded(w, u)) : SASS_PT;

		if (p < 0)
			return sass_work_refuse(w, "needs more predicates than there are");
		w->predicate[u] = p;
	}
	w->predicate[SASS_PT] = SASS_PT;
	return 0;
}

int sass_work_free_predicate(const struct work *w, uint32_t i)
{
	unsigned used = get_live_before(w, i);

	for (unsigned u = 0; u < PREDICATES; u++)
		if (get_live_before(w, i) >> (UNIFORM + u) & 1)
			used |= 1u << w->predicate[u];
	return find_highest_free(used);
}
