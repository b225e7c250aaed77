/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU_PERTHREAD_ARRAY: max_entries values for each thread of a launch. A thread is identified by its linear number in
 * the launch, from 0.
 *
 *   value i of thread t  at data + i * stride + t * copy_stride, so values of consecutive threads are adjacent.
 *                        copy_stride = round_up(value_size, 8), stride = copies * copy_stride
 *   copies               number of threads that have values. A look-up by another thread returns NULL, and counts in
 *                        drops and in the arena's thread_drops
 */
#ifndef GPUBPF_MAPS_THREAD_ARRAY_H
#define GPUBPF_MAPS_THREAD_ARRAY_H

#include "maps/device/ctx.h"
#include "maps/device/words.h"

GPUBPF_FN u64 gpubpf_thread_array_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	u32 index = (u32)gpubpf_word(key, 4);
	u64 thread = gpubpf_ctx_global_linear(0);

	if (index >= max_entries)
		return 0;
	if (thread >= copies) {
		gpubpf_count(env->arena + ctl);
		gpubpf_count(env->arena + GPUBPF_ARENA_THREAD_DROPS);
		return 0;
	}
	return env->arena + data + index * stride + thread * copy_stride;
}

GPUBPF_FN s64 gpubpf_thread_array_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
					 GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 address;

	if (flags > GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	if ((u32)gpubpf_word(key, 4) >= max_entries)
		return -GPUBPF_E2BIG;
	if (flags == GPUBPF_NOEXIST)
		return -GPUBPF_EEXIST;
	address = gpubpf_thread_array_lookup(env, GPUBPF_MAP_PASS, key);
	if (!address)
		return -GPUBPF_E2BIG;
	gpubpf_put_value(address, value, value_size, map_flags);
	return 0;
}

GPUBPF_FN s64 gpubpf_thread_array_delete(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	return -GPUBPF_EINVAL;
}

#endif
