/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include "facts.h"
#include "gpubpf/allocation.h"
#include "gpubpf/placement.h"
#include "prog.h"

#define GPUBPF_PLACEMENT(id, name, needs, live, meaning) \
	_Static_assert(GPUBPF_F_##id == (GPUBPF_PLACE_##id + 1) << GPUBPF_PLACE_SHIFT, "the flag of that place");
#include "core/wire/placements.def"

static const struct {
	uint32_t types, unless;
	enum gpubpf_placement where;
} defaults[] = {
#define GPUBPF_PLACED_BY(types, unless, id) { types, unless, GPUBPF_PLACE_##id },
#include "core/wire/placements.def"
};

const char *gpubpf_placement_conflict(const struct gpubpf_map *map, uint32_t use)
{
	if (map->type->flags & GPUBPF_MAP_RING)
		return "the agent copies a ring's records from the device while kernels run";
	if (map->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS))
		return "its elements are maps or programs in the device's memory";
	if (map->map_flags & GPUBPF_F_ALLOCATIONS)
		return "the agent records allocations in the arena";
	if (use & GPUBPF_USE_ELEMENT)
		return "it may be an element of a map of maps, whose elements must all be in the same kind of memory";
	return NULL;
}

enum gpubpf_placement gpubpf_placement_choose(const struct gpubpf_map *map, uint32_t use, uint64_t caps)
{
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (map->type->flags & defaults[i].types && !(use & defaults[i].unless) &&
		    !gpubpf_placement_conflict(map, use) && !gpubpf_placement_lacks(defaults[i].where, caps) &&
		    gpubpf_placement_live(defaults[i].where, caps))
			return defaults[i].where;
	return GPUBPF_PLACE_DEVICE;
}
