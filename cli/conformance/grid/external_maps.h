/* SPDX-License-Identifier: Apache-2.0 */
/* Places the maps of cases outside the arena. */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H
#define GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H

#include "core/device.h"
#include "core/model/facts.h"
#include "maps/maps.h"

/*
 * Choose where the maps of a unit are placed, for struct gpubpf_layout_opts. Each map that may be in memory of kind
 * `where` is placed there, other maps stay in the arena. `caps` are the device's capabilities.
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
 * Allocate memory for the maps that grid_places() chose, copy their contents from the arena, and write their addresses
 * into the device's arena.
 */
int grid_place(struct grid_placed *placed, void *arena, struct gpubpf_reason *why);
/* Copy the contents of these maps back into the arena. */
void grid_placed_copy_back(const struct grid_placed *placed, void *arena);
void grid_placed_finish(struct grid_placed *placed);

#endif
