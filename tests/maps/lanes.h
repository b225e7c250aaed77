/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulates a warp for the lane operations of maps/: the lanes in LANES are active and all have the same data.
 * LANES_WITH(key) is the mask of the lanes with that key.
 */
#ifndef GPUBPF_TESTS_MAPS_LANES_H
#define GPUBPF_TESTS_MAPS_LANES_H

#include <stdint.h>

#define GPUBPF_HAS_WARP
#ifndef LANES_WITH
#define LANES_WITH(key) ((void)(key), LANES)
#endif

static inline uint32_t gpubpf_warp_count(uint32_t mask)
{
	return (uint32_t)__builtin_popcount(mask);
}

static inline uint32_t gpubpf_warp_one(uint32_t mask)
{
	return 31 - (uint32_t)__builtin_clz(mask);
}

static inline uint32_t gpubpf_warp_first(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

static inline uint32_t gpubpf_warp_ballot(uint32_t lanes, uint32_t bit)
{
	return bit ? lanes : 0;
}

static inline void gpubpf_warp_sync(uint32_t lanes)
{
	(void)lanes;
}

static inline uint32_t gpubpf_warp_active(void)
{
	return LANES;
}

static inline uint32_t gpubpf_warp_peers(uint64_t key)
{
	return LANES_WITH(key);
}

static inline uint32_t gpubpf_warp_same(uint64_t key)
{
	(void)key;
	return LANES;
}

#endif
