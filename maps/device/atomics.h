/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics that programs call on addresses of map memory, and adds that combine the lanes of a warp. */
#ifndef GPUBPF_MAPS_ATOMICS_H
#define GPUBPF_MAPS_ATOMICS_H

#include "machine.h"

/*
 * Defines an add for which one lane executes an atomic on behalf of all active lanes with the same address and value.
 * So a warp needs one atomic for a counter.
 *
 * Only one such group of lanes is found, and the other lanes add separately. For a histogram this is fastest, because
 * finding every group takes one step per group. The function is correct for any set of converged lanes, so no lane
 * waits for another.
 */
#ifdef GPUBPF_HAS_WARP
/*
 * Defines an add for active lanes that all have the same address. If the value is a constant, the assembler combines
 * the adds of a warp into one instruction, and combines them with the application's own adds. On an H200, vectorAdd
 * then takes 1.01 times as long as without the probe, instead of 1.03 times.
 */
#ifdef GPUBPF_COMBINES_ADDS
#define GPUBPF_COMBINED(value) __builtin_constant_p(value)
#else
#define GPUBPF_COMBINED(value) 0
#endif
#define GPUBPF_ADD_SAME(type) \
	GPUBPF_FN void gpubpf_atomic_add_same_##type(u64 address, type value) \
	{ \
		u32 same; \
		if (GPUBPF_COMBINED(value)) { \
			gpubpf_add_##type(address, value); \
			return; \
		} \
		same = gpubpf_warp_same(value); \
		if (!(same >> gpubpf_lane() & 1)) \
			gpubpf_add_##type(address, value); \
		else if (gpubpf_warp_first(same) == gpubpf_lane()) \
			gpubpf_add_##type(address, value * (type)gpubpf_warp_count(same)); \
	}
/* `place` is an expression by which lanes compare their addresses: the address, or its lower half. */
#define GPUBPF_ADD_WARP(name, type, place) \
	GPUBPF_FN void gpubpf_atomic_add_##name##_##type(u64 address, type value) \
	{ \
		u32 here = gpubpf_warp_active(), one = gpubpf_warp_one(here), lane = gpubpf_lane(), same; \
		bool equal = (place) == gpubpf_warp_from(here, (place), one), alone; \
		if (!__builtin_constant_p(value)) \
			equal &= value == (type)gpubpf_warp_from(here, value, one); \
		same = gpubpf_warp_ballot(here, equal); \
		alone = !(same >> lane & 1); \
		if (alone || one == lane) \
			gpubpf_add_##type(address, alone ? value : value * (type)gpubpf_warp_count(same)); \
	}
#ifdef GPUBPF_HAS_MATCH
/*
 * Returns true if all lanes of a full warp add the same value below 2^26 to the same place of a map. `told`: the value
 * is known to be equal in all lanes.
 */
GPUBPF_FN bool gpubpf_adds_together(u32 place, u64 value, u32 told)
{
	const u32 whole = ~(u32)0;

	return told && gpubpf_warp_active() == whole && !(value >> 26) && gpubpf_warp_match(whole, place);
}

/*
 * Defines an add. If `told` is not 0, the value is equal in all lanes. Usually the address is equal in all lanes too,
 * so the code tests this case first.
 */
#define GPUBPF_ADD_TOLD(type) \
	GPUBPF_FN void gpubpf_atomic_add_told_##type(u64 address, type value, u32 told) \
	{ \
		u32 here = gpubpf_warp_active(); \
		if (!told || !gpubpf_warp_match(here, (u32)address)) \
			gpubpf_atomic_add_near_##type(address, value); \
		else if (gpubpf_warp_one(here) == gpubpf_lane()) \
			gpubpf_add_##type(address, (type)gpubpf_product(value, gpubpf_warp_count(here))); \
	}
#endif
#else
#define GPUBPF_ADD_SAME(type) \
	GPUBPF_FN void gpubpf_atomic_add_same_##type(u64 address, type value) \
	{ \
		gpubpf_add_##type(address, value); \
	}
#define GPUBPF_ADD_WARP(name, type, place) \
	GPUBPF_FN void gpubpf_atomic_add_##name##_##type(u64 address, type value) \
	{ \
		gpubpf_add_##type(address, value); \
	}
#endif

#ifndef GPUBPF_ADD_TOLD
#define GPUBPF_ADD_TOLD(type)
#endif

#define GPUBPF_ATOMICS(type) \
	GPUBPF_ADD_SAME(type) \
	GPUBPF_ADD_WARP(warp, type, address) \
	GPUBPF_ADD_WARP(near, type, (u64)(u32)address) \
	GPUBPF_ADD_TOLD(type) \
	GPUBPF_FN type gpubpf_atomic_load_##type(u64 address) \
	{ \
		return gpubpf_load_##type(address); \
	} \
	GPUBPF_FN void gpubpf_atomic_store_##type(u64 address, type value) \
	{ \
		gpubpf_store_##type(address, value); \
	} \
	GPUBPF_FN void gpubpf_atomic_add_##type(u64 address, type value) \
	{ \
		gpubpf_add_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_fetch_add_##type(u64 address, type value) \
	{ \
		return gpubpf_rmw_add_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_fetch_or_##type(u64 address, type value) \
	{ \
		return gpubpf_rmw_or_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_fetch_and_##type(u64 address, type value) \
	{ \
		return gpubpf_rmw_and_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_fetch_xor_##type(u64 address, type value) \
	{ \
		return gpubpf_rmw_xor_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_xchg_##type(u64 address, type value) \
	{ \
		return gpubpf_rmw_xchg_##type(address, value); \
	} \
	GPUBPF_FN type gpubpf_atomic_cmpxchg_##type(u64 address, type expected, type value) \
	{ \
		return gpubpf_cas_##type(address, expected, value); \
	}

GPUBPF_ATOMICS(u32)
GPUBPF_ATOMICS(u64)

/*
 * Takes the maximum of a word and a number. A lane whose number cannot change the word omits the atomic, because lanes of
 * a warp execute atomics on one address one after another. A lane that is alone does not wait for the load.
 */
GPUBPF_FN void gpubpf_atomic_max_u64(u64 address, u64 value)
{
#ifdef GPUBPF_HAS_WARP
	u32 here = gpubpf_warp_active();
	bool alone = !(here & (here - 1));
#else
	const bool alone = false;
#endif

	if (alone || gpubpf_load_u64(address) < value)
		gpubpf_max_u64(address, value);
}

#endif
