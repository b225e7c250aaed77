/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory a map is to lie in. */
#ifndef GPUBPF_CORE_PLACEMENT_H
#define GPUBPF_CORE_PLACEMENT_H

#include "core/wire/placement.h"

struct gpubpf_map;

/* GPUBPF_F_PINNED and others of map_flags (gpubpf/placement.h): from this bit on, the number of the placement + 1 */
#define GPUBPF_PLACE_SHIFT 28

/* May the map lie elsewhere than in the device's memory, used like that (enum gpubpf_map_use)? NULL: yes; else why not. */
const char *gpubpf_placement_bars(const struct gpubpf_map *map, uint32_t use);
/* Where one lies that nobody has asked a place for, on a device of these capabilities. */
enum gpubpf_placement gpubpf_placement_choose(const struct gpubpf_map *map, uint32_t use, uint64_t caps);

#endif
