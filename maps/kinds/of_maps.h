/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARRAY_OF_MAPS and HASH_OF_MAPS: an array (array.h) or a hash table (hash.h) whose values are numbers of maps.
 *
 *   value     u32 number of a map in the session, from 1; 0: no map. Only the host writes values.
 *
 * In programs, a look-up returns a map pointer (GPUBPF_PTR_MAP of core/model/facts.h). All maps that can be elements
 * have the same attributes and layout (gpubpf_map_is_like()), so the same code works for all of them. The location of
 * each map is in its row of the arena's table.
 */
#ifndef GPUBPF_MAPS_OF_MAPS_H
#define GPUBPF_MAPS_OF_MAPS_H

#include "array.h"
#include "hash.h"

#define GPUBPF_OF_MAPS_POINTER 0x8000u /* must equal GPUBPF_PTR_MAP of core/model/facts.h */

/*
 * Return the map pointer for the value at an address. Returns 0 if the address is 0 or the value is not the number of a
 * map.
 */
GPUBPF_FN u64 gpubpf_of_maps_named(u64 address)
{
	u32 number = address ? gpubpf_load_acquire_u32(address) : 0;

	return number && number < GPUBPF_ARENA_ROWS ? GPUBPF_OF_MAPS_POINTER + number - 1 : 0;
}

/* Return the member ctl (or data) of the map that a map pointer refers to. */
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
