/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places the maps of cases outside the arena, in the memory that --place selects (core/wire/placements.def). The agent
 * does the same for applications (hooks/device/external_maps.c).
 */
#include "external_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/placement.h"

#define ROW(index) (GPUBPF_ARENA_MAPS + (uint64_t)(index) * sizeof(struct gpubpf_map_layout))

static uint64_t round_to_pages(uint64_t size)
{
	return (size + GPUBPF_ARENA_ALIGN - 1) / GPUBPF_ARENA_ALIGN * GPUBPF_ARENA_ALIGN;
}

void grid_places(const struct gpubpf_unit *unit, const uint32_t *map_use, enum gpubpf_placement where, uint64_t caps,
		 uint32_t *places)
{
	uint32_t use[GPUBPF_MAX_MAPS] = { 0 };

	memcpy(use, map_use, unit->nmaps * sizeof(*use));
	gpubpf_layout_propagate_use(unit, use);
	for (uint32_t i = 0; i < unit->nmaps; i++) {
		bool may = where && !unit->maps[i].prototype && !gpubpf_placement_conflict(&unit->maps[i], use[i]);

		places[i] = !may ? 0 :
				   GPUBPF_LAYOUT_PLACED_IN(where) |
					    (gpubpf_placement_live(where, caps) ? GPUBPF_LAYOUT_LIVE : 0);
	}
}

/* Allocate memory for one map, copy the map's contents into it, and write its address into the device's arena. */
static int place_map(struct grid_placed *p, uint32_t map, void *arena, struct gpubpf_reason *why)
{
	const struct gpubpf_map_layout *l = &p->layout->maps[map];
	struct gpubpf_device_memory *m = &p->memory[p->n];
	char *host = (char *)arena + l->ctl;
	uint64_t *row = (uint64_t *)((char *)arena + ROW(map) + GPUBPF_ROW_CTL);
	int err = p->ops->memory_get(p->device, GPUBPF_LAYOUT_PLACE(l->flags), host, round_to_pages(l->size), m, why);

	if (err < 0)
		return err;
	p->map[p->n++] = map;
	if (m->host != host)
		memcpy(m->host, host, m->size);
	row[0] = m->address; /* row is in the host's arena; arena_push() copies it to the device */
	row[1] = m->address + (l->data - l->ctl);
	err = p->ops->arena_push(p->device, ROW(map) + GPUBPF_ROW_CTL, row, 2 * sizeof(*row));
	return err ? err : gpubpf_arena_wait(p->ops, p->device);
}

int grid_place(struct grid_placed *p, void *arena, struct gpubpf_reason *why)
{
	int err = 0;

	_Static_assert(GPUBPF_ROW_DATA == GPUBPF_ROW_CTL + 8, "both at once");
	for (uint32_t i = 0; i < p->layout->nmaps && !err; i++)
		if (p->layout->maps[i].flags & GPUBPF_LAYOUT_PLACED && p->layout->maps[i].size)
			err = place_map(p, i, arena, why);
	return err;
}

void grid_placed_copy_back(const struct grid_placed *p, void *arena)
{
	for (uint32_t i = 0; i < p->n; i++) {
		char *host = (char *)arena + p->layout->maps[p->map[i]].ctl;

		if (p->memory[i].host != host)
			memcpy(host, p->memory[i].host, p->memory[i].size);
	}
}

void grid_placed_finish(struct grid_placed *p)
{
	while (p->n)
		p->ops->memory_put(p->device, &p->memory[--p->n]);
}
