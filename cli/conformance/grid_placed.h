/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of cases that lie elsewhere than in the arena. */
#ifndef GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H
#define GPUBPF_CLI_CONFORMANCE_GRID_PLACED_H

#include "core/device.h"
#include "core/facts.h"
#include "maps/maps.h"

/* Where the maps of a unit lie, so that as many as may lie in that memory of a device with these capabilities; as
 * struct gpubpf_layout_opts takes it. */
void grid_places(const struct gpubpf_unit *unit, const uint32_t *map_use, enum gpubpf_placement where, uint64_t caps,
		 uint32_t *places);

struct grid_placed {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_layout *layout;
	uint32_t n, map[GPUBPF_MAX_MAPS];
	struct gpubpf_device_memory memory[GPUBPF_MAX_MAPS];
};

/* Have memory for them, which holds what the arena does, and tell the device's arena where it is. */
int grid_place(struct grid_placed *placed, void *arena, struct gpubpf_why *why);
/* What kernels have left there is in the arena. */
void grid_placed_back(const struct grid_placed *placed, void *arena);
void grid_placed_finish(struct grid_placed *placed);

#endif
