/* SPDX-License-Identifier: Apache-2.0 */
/* Which predicates of a probe matter where, the warp's own among them, which become lanes'. Sets of both have the lanes'
 * in bits 0..6, the warp's from UNIFORM on. */
#include "probe_work.h"

#include <errno.h>
#include <stdlib.h>

#define UNIFORM SASS_WARPS

/* Too many where nothing falls through do no harm. */
static unsigned live_behind(const struct work *w, uint32_t i)
{
	const struct line *line = &w->lines[i];
	unsigned behind = i + 1 < w->n ? w->live[i + 1] : 0;

	if (line->target != SASS_NONE)
		behind |= w->live[line->target];
	for (uint32_t k = 0; k < sass_work_entries(w, i); k++)
		behind |= w->live[sass_work_entry(w, i, k)];
	return behind;
}

static unsigned live_before(const struct work *w, uint32_t i)
{
	const struct line *line = &w->lines[i];
	unsigned written = sass_field(line->insn, 12, 4) == SASS_PT ? sass_predicates_written(line->insn) : 0;

	return (live_behind(w, i) & ~written) | sass_predicates_read(line->insn);
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

/* The lanes' predicates that hold something where the warp's own u does, or is written. */
static unsigned met_by(const struct work *w, unsigned u)
{
	unsigned met = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		unsigned behind = live_behind(w, i) | sass_predicates_written(w->lines[i].insn);

		if (w->live[i] >> (UNIFORM + u) & 1)
			met |= w->live[i];
		if (behind >> (UNIFORM + u) & 1)
			met |= behind;
	}
	return met;
}

static int highest_free(unsigned used)
{
	int p = PREDICATES;

	while (p-- && used >> p & 1)
		;
	return p;
}

/* Two of the warp's own never become one of the lanes', which asks for more than is needed. */
int sass_work_map_predicates(struct work *w)
{
	unsigned taken = 0, named = 0;

	w->live = calloc(w->n + 1, sizeof(*w->live));
	if (!w->live)
		return -ENOMEM;
	find_live(w);
	for (uint32_t i = 0; i < w->n; i++)
		named |= sass_predicates_read(w->lines[i].insn) | sass_predicates_written(w->lines[i].insn);
	for (unsigned u = 0; u < PREDICATES; u++) {
		int p = named >> (UNIFORM + u) & 1 ? highest_free(taken | met_by(w, u)) : SASS_PT;

		if (p < 0)
			return sass_work_refuse(w, "has no predicate left");
		w->predicate[u] = p;
		taken |= 1u << p & ~(1u << SASS_PT);
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
