/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the memory of a map. */
#ifndef GPUBPF_CORE_PLACEMENT_H
#define GPUBPF_CORE_PLACEMENT_H

#include "core/wire/placement.h"

struct gpubpf_map;

/* lowest bit of the field in map_flags that holds the placement's number + 1 (gpubpf/placement.h) */
#define GPUBPF_PLACE_SHIFT 28

/*
 * Returns the reason why a map must be in the device's memory, or NULL if it may be elsewhere. `use` is a set of enum
 * gpubpf_map_use.
 */
const char *gpubpf_placement_conflict(const struct gpubpf_map *map, uint32_t use);
/* Returns the default placement of a map on a device with these capabilities. */
enum gpubpf_placement gpubpf_placement_choose(const struct gpubpf_map *map, uint32_t use, uint64_t caps);

#endif
