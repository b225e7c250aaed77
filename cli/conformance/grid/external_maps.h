/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of cases that are placed outside the arena. */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H
#define GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H

#include "core/device.h"
#include "core/model/facts.h"
#include "maps/maps.h"

/*
 * Choose the placement of a unit's maps, for struct gpubpf_layout_opts: each map that may be in memory of kind `where`
 * is placed there. `caps` are the device's capabilities.
 */
void grid_places(const struct gpubpf_unit *unit, const uint32_t *map_use, enum gpubpf_placement where, uint64_t caps,
		 uint32_t *places);

struct grid_placed {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_layout *layout;
	uint32_t n, map[GPUBPF_MAX_MAPS];
	struct gpubpf_device_memory memory[GPUBPF_MAX_MAPS];
};

/*
 * Allocate memory for the maps that grid_places() placed, copy their contents from the arena, and write the addresses
 * into the device's arena.
 */
int grid_place(struct grid_placed *placed, void *arena, struct gpubpf_reason *why);
/* Copy the maps that grid_place() placed back into the arena. */
void grid_placed_copy_back(const struct grid_placed *placed, void *arena);
void grid_placed_finish(struct grid_placed *placed);

#endif
