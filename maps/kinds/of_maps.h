/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARRAY_OF_MAPS and HASH_OF_MAPS: an array (array.h) and a hash table (hash.h) whose values name maps.
 *
 *   value     u32 number of a map of the session, from 1; 0: none. Only the host writes it.
 *
 * A look-up returns a map pointer of programs (GPUBPF_PTR_MAP of core/model/facts.h). All possible elements have the same
 * attributes and layout (gpubpf_map_is_like()), so code for one works for the others. The arena's row has the location
 * of each.
 */
#ifndef GPUBPF_MAPS_OF_MAPS_H
#define GPUBPF_MAPS_OF_MAPS_H

#include "array.h"
#include "hash.h"

#define GPUBPF_OF_MAPS_POINTER 0x8000u /* equals GPUBPF_PTR_MAP of core/model/facts.h */

/* Return the map pointer for the value at an address; 0: the value names no map, or the address is 0. */
GPUBPF_FN u64 gpubpf_of_maps_named(u64 address)
{
	u32 number = address ? gpubpf_load_acquire_u32(address) : 0;

	return number && number < GPUBPF_ARENA_ROWS ? GPUBPF_OF_MAPS_POINTER + number - 1 : 0;
}

/* Return ctl, or data, of the map to which a map pointer points. */
GPUBPF_FN u64 gpubpf_of_maps_ctl(GPUBPF_ENV, u64 map)
{
	return gpubpf_load_u64(env->arena + GPUBPF_ARENA_MAPS + (map - GPUBPF_OF_MAPS_POINTER) * GPUBPF_ROW_SIZE +
			       GPUBPF_ROW_CTL);
}

GPUBPF_FN u64 gpubpf_of_maps_data(GPUBPF_ENV, u64 map)
{
	return gpubpf_load_u64(env->arena + GPUBPF_ARENA_MAPS + (map - GPUBPF_OF_MAPS_POINTER) * GPUBPF_ROW_SIZE +
			       GPUBPF_ROW_DATA);
}

GPUBPF_FN u64 gpubpf_array_of_maps_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	return gpubpf_of_maps_named(gpubpf_array_lookup(env, GPUBPF_MAP_PASS, key));
}

GPUBPF_FN u64 gpubpf_hash_of_maps_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	return gpubpf_of_maps_named(gpubpf_hash_lookup(env, GPUBPF_MAP_PASS, key));
}

#endif
