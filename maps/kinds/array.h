/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARRAY, PERCPU_ARRAY, GPU_ARRAY and global data: max_entries values that exist from the beginning.
 *
 *   value i of copy c    at data + c * copy_stride + i * stride, with stride = round_up(value_size, 8)
 *   copies               1, or one per multiprocessor. Either readers sum the copies (GPUBPF_LAYOUT_SUM8 or SUM4), or
 *                        the copies are independent values (GPUBPF_LAYOUT_COPIES). With several copies, copy_stride is
 *                        a multiple of GPUBPF_REPLICA_ALIGN
 *   ctl                  struct gpubpf_map_ctl
 */
#ifndef GPUBPF_MAPS_ARRAY_H
#define GPUBPF_MAPS_ARRAY_H

#include "maps/device/words.h"

GPUBPF_FN u64 gpubpf_array_address(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 index)
{
	if (index >= max_entries)
		return 0;
#ifdef GPUBPF_HIDES
	if (!__builtin_constant_p(index))
		index = gpubpf_hidden(index);
#endif
	return env->arena + data + index * stride +
	       (map_flags & GPUBPF_LAYOUT_COPIES ? gpubpf_copy_of(copies) : gpubpf_own_copy(copies)) * copy_stride;
}

/* Like gpubpf_array_lookup(), for a caller that knows `first`, the address of the first value in the lane's copy. */
GPUBPF_FN u64 gpubpf_array_lookup_from(u64 first, u32 max_entries, u64 stride, GPUBPF_PRIVATE const u8 *key)
{
	u32 index = (u32)gpubpf_word(key, 4);

	if (index >= max_entries)
		return 0;
#ifdef GPUBPF_HIDES
	if (!__builtin_constant_p(index))
		index = gpubpf_hidden(index);
#endif
	return first + index * stride;
}

GPUBPF_FN u64 gpubpf_array_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	return gpubpf_array_address(env, GPUBPF_MAP_PASS, (u32)gpubpf_word(key, 4));
}

GPUBPF_FN s64 gpubpf_array_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
				  GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u32 index = (u32)gpubpf_word(key, 4), copy;
	u64 first = env->arena + data + index * stride;

	if (flags > GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	if (map_flags & GPUBPF_LAYOUT_RDONLY)
		return -GPUBPF_EPERM;
	if (index >= max_entries)
		return -GPUBPF_E2BIG;
	if (flags == GPUBPF_NOEXIST)
		return -GPUBPF_EEXIST;
	if (map_flags & GPUBPF_LAYOUT_COPIES) {
		first += gpubpf_copy_of(copies) * copy_stride;
	} else {
		for (copy = 1; copy < copies; copy++)
			gpubpf_zero(first + copy * copy_stride, value_size);
	}
	gpubpf_put_value(first, value, value_size, map_flags);
	return 0;
}

GPUBPF_FN s64 gpubpf_array_delete(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	return -GPUBPF_EINVAL;
}

/* Returns the value of element *at, stores its key and increments *at. Returns 0 after the last element. */
GPUBPF_FN u64 gpubpf_array_each(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u64 *at, GPUBPF_PRIVATE u8 *key)
{
	u64 index = *at;

	if (index >= max_entries)
		return 0;
	*at = index + 1;
	gpubpf_set_word(key, index, 4);
	return gpubpf_array_address(env, GPUBPF_MAP_PASS, (u32)index);
}

/*
 * Request launches for a program: 1 plus their number. The agent replaces the request by 0 (hooks/launch/gate.c). All
 * threads store whole words, so no request is mixed of two.
 */
GPUBPF_FN s64 gpubpf_array_arm(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 launches)
{
	gpubpf_store_u64(env->arena + data, 1 + (launches < 0xffffffffu ? launches : 0xffffffffu));
	return 0;
}

#endif
