/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the places of a function, by kind. Each place belongs to an event of the function. */
#include "event.h"

static void add_place(struct cl_place *out, uint32_t *n, uint32_t *counts, struct cl_place place)
{
	place.id = counts[place.kind]++;
	place.site = UINT32_MAX;
	if (out)
		out[*n] = place;
	++*n;
}

/*
 * Does an access belong to the place kind? An unknown access (a->access is 0) that may touch any memory belongs to
 * every kind of access.
 */
static bool matches_kind(const struct gpubpf_place_kind *kind, const struct cl_access *a)
{
	return kind->spaces & a->spaces &&
	       (a->access ? kind->accesses >> a->access & 1 :
			    kind->accesses == GPUBPF_DOES_ANY || (a->spaces & GPUBPF_IN_ANY) == GPUBPF_IN_ANY);
}

uint32_t gpubpf_cl_places(const struct gpubpf_cl_function *f, uint32_t kinds, struct cl_place *out)
{
	uint32_t counts[GPUBPF_NSITES] = { 0 }, n = 0;

	kinds &= gpubpf_places_of(GPUBPF_WHERE_INSN);
	for (uint32_t i = 0; kinds && i < f->nevents; i++) {
		const struct cl_event *e = &f->event[i];
		struct cl_place place = { .line = e->line, .event = i };

		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			place.kind = kind;
			if (!(kinds >> kind & 1))
				continue;
			if ((e->barrier || (e->form == CLREAD_BARRIER && e->unseen)) &&
			    (kind == GPUBPF_SITE_BARRIER || kind == GPUBPF_SITE_BARRIER_EXIT))
				add_place(out, &n, counts, place);
			if (e->form == CLREAD_MARK && kind == GPUBPF_SITE_MARK)
				add_place(out, &n, counts, place);
			if (e->form == CLREAD_LINE && kind == GPUBPF_SITE_LINE)
				add_place(out, &n, counts, place);
			if ((e->form == CLREAD_CONDITION || e->form == CLREAD_SWITCH) && kind == GPUBPF_SITE_BRANCH)
				add_place(out, &n, counts, place);
			for (place.access = 0; place.access < e->naccesses; place.access++)
				if (matches_kind(gpubpf_place_kind(kind), &e->access[place.access]))
					add_place(out, &n, counts, place);
			place.access = 0;
		}
	}
	return n;
}

bool gpubpf_cl_is_hidden(const struct gpubpf_cl_function *f, const struct cl_place *place)
{
	const struct cl_event *e = &f->event[place->event];
	uint32_t spaces = gpubpf_place_kind(place->kind)->spaces;

	return !f->end || e->unseen || (spaces && e->access[place->access].spaces & ~spaces);
}
