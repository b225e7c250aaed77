/* SPDX-License-Identifier: Apache-2.0 */
#include "named_places.h"

#include <errno.h>

#include "core/model/prog.h"

uint64_t gpubpf_named_set(const struct gpubpf_unit *unit, const struct gpubpf_place *place)
{
	uint64_t set = 0;
	uint32_t bit = 0;

	for (uint32_t i = 0; i < unit->nprogs && bit < GPUBPF_MAX_NAMED; i++)
		if (unit->progs[i].site == place->kind)
			set |= (uint64_t)gpubpf_place_matches(place, unit->progs[i].pattern) << bit++;
	return set;
}

static const struct gpubpf_kernel_info *next_function(const struct gpubpf_named_scope *in,
						      const struct gpubpf_kernel_info *at)
{
	uint32_t i = at == in->kernel ? 0 : (uint32_t)(at - in->infos) + 1;

	while (i < in->n && !in->calls[i])
		i++;
	return i < in->n ? &in->infos[i] : NULL;
}

uint32_t gpubpf_named_sets(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			   uint64_t sets[GPUBPF_MAX_SETS])
{
	uint32_t n = 0, progs = 0;

	for (uint32_t i = 0; i < unit->nprogs; i++)
		progs += unit->progs[i].site == kind;
	if (progs > GPUBPF_MAX_NAMED)
		return GPUBPF_MAX_SETS + 1;
	for (const struct gpubpf_kernel_info *at = in->kernel; at; at = next_function(in, at))
		for (uint32_t k = 0; k < at->nplaces; k++) {
			uint64_t set = at->places[k].kind == kind ? gpubpf_named_set(unit, &at->places[k]) : 0;
			uint32_t i = 0;

			while (i < n && sets[i] != set)
				i++;
			if (!set || i < n)
				continue;
			if (n == GPUBPF_MAX_SETS)
				return n + 1;
			sets[n++] = set;
		}
	return n;
}

void gpubpf_named_mark(const struct gpubpf_unit *unit, enum gpubpf_site kind, const uint64_t *sets, uint32_t n,
		       uint8_t named[GPUBPF_PLAN_LINKS / 8])
{
	uint64_t all = 0;
	uint32_t bit = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= sets[i];
	for (uint32_t i = 0; i < unit->nprogs && i < GPUBPF_PLAN_LINKS && bit < GPUBPF_MAX_NAMED; i++)
		if (unit->progs[i].site == kind && all >> bit++ & 1)
			named[i / 8] |= 1 << i % 8;
}

int gpubpf_named_insert(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			uint64_t set, uint32_t site, struct gpubpf_insertions *to)
{
	int err = 0;

	for (const struct gpubpf_kernel_info *at = in->kernel; at; at = next_function(in, at))
		for (uint32_t k = 0; !err && k < at->nplaces; k++)
			if (at->places[k].kind == kind && gpubpf_named_set(unit, &at->places[k]) == set)
				err = gpubpf_insert_at(to, site, at, k);
	return err;
}

bool gpubpf_prog_has_named_place(const struct gpubpf_prog *prog)
{
	return gpubpf_place_has_name(prog->site);
}

const struct gpubpf_prog *gpubpf_named_first_program(const struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (gpubpf_prog_has_named_place(&unit->progs[i]))
			return &unit->progs[i];
	return NULL;
}
