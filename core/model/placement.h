/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the memory of a map. */
#ifndef GPUBPF_CORE_PLACEMENT_H
#define GPUBPF_CORE_PLACEMENT_H

#include "core/wire/placement.h"

struct gpubpf_map;

/* map_flags holds the number of the placement + 1 from this bit on, as in GPUBPF_F_PINNED (gpubpf/placement.h) */
#define GPUBPF_PLACE_SHIFT 28

/*
 * May a map that programs use in these ways (set of enum gpubpf_map_use) be outside the device's memory? NULL: yes;
 * else the reason why not.
 */
const char *gpubpf_placement_conflict(const struct gpubpf_map *map, uint32_t use);
/* Returns the default placement of a map on a device with these capabilities. */
enum gpubpf_placement gpubpf_placement_choose(const struct gpubpf_map *map, uint32_t use, uint64_t caps);

#endif
