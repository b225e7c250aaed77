/* SPDX-License-Identifier: Apache-2.0 */
/* Which predicates of a probe matter where, the warp's own among them, which become lanes'. Sets of both have the lanes'
 * in bits 0..6, the warp's in 8..14. */
#include "probe_work.h"

#include <errno.h>
#include <stdlib.h>

#define UNIFORM 8                  /* where the warp's own begin */
#define BOTH_TRUE (1u << SASS_PT | 1u << (UNIFORM + SASS_PT))
#define OP_VOTEU 0x886

/* 87 is something else, or nothing, in moves, shifts, conversions, accesses to memory and what orders them. */
static bool has_input(uint32_t operation)
{
	switch (operation) {
	case 0x002: case 0x005: case 0x019: case 0x031: case 0x035: case 0x036: case 0x11b: case 0x0ca: case 0x1c2: case 0x1c3:
		return false;
	default:
		return operation < 0x100 || (operation > 0x140 && operation < 0x180);
	}
}

unsigned sass_work_predicates_read(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;
	unsigned read = 1u << sass_field(insn, 12, 3);

	if (has_input(operation))
		read |= 1u << sass_field(insn, 87, 3);
	if (operation == 0x010 /* IADD3 */ || operation == 0x01c /* PLOP3 */)
		read |= 1u << sass_field(insn, 77, 3);
	if (operation == 0x00c /* ISETP */ || operation == 0x01c)
		read |= 1u << (sass_field(insn, 68, 3) + (operation == 0x01c && sass_field(insn, 67, 1) ? UNIFORM : 0));
	return read & ~BOTH_TRUE;
}

/* Of an instruction of the uniform datapath: the fields of those kinds. */
static unsigned uniform_fields(const struct sass_form *form, struct sass_insn insn, unsigned kinds)
{
	unsigned set = 0;

	for (unsigned f = 0; f < SASS_UP_FIELDS; f++)
		if (form->predicates & kinds & 1u << f)
			set |= 1u << (UNIFORM + sass_field(insn, sass_up_at[f], 3));
	return set & ~BOTH_TRUE;
}

#define OUTPUTS (SASS_UP_OUT | SASS_UP_SECOND)

static unsigned read_by(const struct line *line)
{
	const struct sass_form *form = sass_form_find(sass_opcode(line->insn));
	unsigned read;

	if (!form || !form->predicates)
		return sass_work_predicates_read(line->insn);
	read = uniform_fields(form, line->insn, ~OUTPUTS);
	if (form->opcode == OP_VOTEU) /* of the lanes' */
		read |= 1u << sass_field(line->insn, 87, 3);
	if (form->predicates == SASS_UP_BRANCH)
		read |= 1u << sass_field(line->insn, 12, 3) | 1u << sass_field(line->insn, 87, 3);
	return read & ~BOTH_TRUE;
}

static unsigned written_by(const struct line *line)
{
	const struct sass_form *form = sass_form_find(sass_opcode(line->insn));

	return form && form->predicates ? uniform_fields(form, line->insn, OUTPUTS) : sass_predicates_written(line->insn);
}

/* Too many where nothing falls through do no harm. */
static unsigned live_behind(const struct work *w, uint32_t i)
{
	const struct line *line = &w->lines[i];
	unsigned behind = i + 1 < w->n ? w->live[i + 1] : 0;

	if (line->target != SASS_NONE)
		behind |= w->live[line->target];
	for (uint32_t k = 0; line->from != SASS_NONE && k < sass_work_entries(w); k++)
		behind |= w->live[sass_work_entry(w, k)];
	return behind;
}

static unsigned live_before(const struct work *w, uint32_t i)
{
	const struct line *line = &w->lines[i];
	unsigned written = sass_field(line->insn, 12, 4) == SASS_PT ? written_by(line) : 0;

	return (live_behind(w, i) & ~written) | read_by(line);
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
		unsigned behind = live_behind(w, i) | written_by(&w->lines[i]);

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
		named |= read_by(&w->lines[i]) | written_by(&w->lines[i]);
	for (unsigned u = 0; u < PREDICATES; u++) {
		int p = named >> (UNIFORM + u) & 1 ? highest_free(taken | met_by(w, u)) : SASS_PT;

		if (p < 0)
			return sass_work_refuse(w, "has no predicate left");
		w->predicate[u] = p;
		taken |= 1u << p & ~BOTH_TRUE;
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
