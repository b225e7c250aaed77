/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer for the host: the interpreter, the tool and tests. It uses real atomic instructions, because twins
 * on CPU devices access the same memory. The coordinates of the thread are in gpubpf_host_thread. If it is NULL, there
 * is one thread in one block.
 */
#ifndef GPUBPF_MAPS_MACHINE_HOST_H
#define GPUBPF_MAPS_MACHINE_HOST_H

#define GPUBPF_CLOCK_IS_NS 1 /* gpubpf_clock() returns ns, so it needs no calibration */

#define GPUBPF_MAX_WAIT_TURNS (1u << 22) /* takes about a second with gpubpf_rest() */
#define GPUBPF_SHORT_WAIT_TURNS (1u << 10)
#define GPUBPF_HAS_REST

#include <stddef.h>
#include <time.h>

struct gpubpf_host_thread {
	u64 grid_dim[3], block_dim[3], block_idx[3], thread_idx[3], offset[3];
	u32 dims;
	u32 sm, lane, warp;
};

extern __thread const struct gpubpf_host_thread *gpubpf_host_thread; /* maps/host/host.c */

/*
 * Sleeps after some iterations of a wait. The thread that the caller waits for may have a lower priority. It runs while
 * the caller sleeps, but not if the caller only yields the processor.
 */
GPUBPF_FN void gpubpf_rest(u32 turns)
{
	if (turns >= 4096 && turns % 512 == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

#define GPUBPF_HOST_OP(type, name, builtin) \
	GPUBPF_FN type gpubpf_rmw_##name##_##type(u64 a, type v) \
	{ \
		return builtin((gpubpf_##type##a *)a, v, __ATOMIC_SEQ_CST); \
	}

#define GPUBPF_HOST_CAS(type, name, order) \
	GPUBPF_FN type gpubpf_##name##_##type(u64 a, type expected, type v) \
	{ \
		__atomic_compare_exchange_n((gpubpf_##type##a *)a, &expected, v, 0, order, __ATOMIC_RELAXED); \
		return expected; \
	}

#define GPUBPF_HOST_OPS(type) \
	GPUBPF_FN type gpubpf_load_##type(u64 a) \
	{ \
		return __atomic_load_n((gpubpf_##type##a *)a, __ATOMIC_RELAXED); \
	} \
	GPUBPF_FN type gpubpf_load_acquire_##type(u64 a) \
	{ \
		return __atomic_load_n((gpubpf_##type##a *)a, __ATOMIC_ACQUIRE); \
	} \
	GPUBPF_FN void gpubpf_store_##type(u64 a, type v) \
	{ \
		__atomic_store_n((gpubpf_##type##a *)a, v, __ATOMIC_RELAXED); \
	} \
	GPUBPF_FN void gpubpf_store_release_##type(u64 a, type v) \
	{ \
		__atomic_store_n((gpubpf_##type##a *)a, v, __ATOMIC_RELEASE); \
	} \
	GPUBPF_FN void gpubpf_add_##type(u64 a, type v) \
	{ \
		__atomic_fetch_add((gpubpf_##type##a *)a, v, __ATOMIC_RELAXED); \
	} \
	GPUBPF_FN type gpubpf_fetch_add_relaxed_##type(u64 a, type v) \
	{ \
		return __atomic_fetch_add((gpubpf_##type##a *)a, v, __ATOMIC_RELAXED); \
	} \
	GPUBPF_HOST_OP(type, add, __atomic_fetch_add) \
	GPUBPF_HOST_OP(type, or, __atomic_fetch_or) \
	GPUBPF_HOST_OP(type, and, __atomic_fetch_and) \
	GPUBPF_HOST_OP(type, xor, __atomic_fetch_xor) \
	GPUBPF_HOST_OP(type, xchg, __atomic_exchange_n) \
	GPUBPF_HOST_CAS(type, cas, __ATOMIC_SEQ_CST) \
	GPUBPF_HOST_CAS(type, cas_relaxed, __ATOMIC_RELAXED)

GPUBPF_HOST_OPS(u32)
GPUBPF_HOST_OPS(u64)

GPUBPF_FN void gpubpf_max_u64(u64 a, u64 v)
{
	u64 old = gpubpf_load_u64(a);

	while (old < v && !__atomic_compare_exchange_n((gpubpf_u64a *)a, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Provide cached loads, as on devices that have them. The host has only one memory, so cached loads are the same as
 * other loads.
 */
#define GPUBPF_HAS_CACHED_LOADS 1
GPUBPF_FN u64 gpubpf_load_cached_u64(u64 a)
{
	return gpubpf_load_u64(a);
}

GPUBPF_FN void gpubpf_load_cached_pair(u64 a, GPUBPF_PRIVATE u64 *low, GPUBPF_PRIVATE u64 *high)
{
	*low = gpubpf_load_u64(a);
	*high = gpubpf_load_u64(a + 8);
}

GPUBPF_FN void gpubpf_fence(void)
{
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer does not support fences; the atomics around them suffice for it */
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	gpubpf_fence();
}

GPUBPF_FN u64 gpubpf_block_idx_at(u32 i)
{
	return gpubpf_host_thread ? gpubpf_host_thread->block_idx[i] : 0;
}

GPUBPF_FN u64 gpubpf_block_dim_at(u32 i)
{
	return gpubpf_host_thread ? gpubpf_host_thread->block_dim[i] : 1;
}

GPUBPF_FN u64 gpubpf_thread_idx_at(u32 i)
{
	return gpubpf_host_thread ? gpubpf_host_thread->thread_idx[i] : 0;
}

GPUBPF_FN u64 gpubpf_grid_dim_at(u32 i)
{
	return gpubpf_host_thread ? gpubpf_host_thread->grid_dim[i] : 1;
}

GPUBPF_FN u64 gpubpf_offset_at(u32 i)
{
	return gpubpf_host_thread ? gpubpf_host_thread->offset[i] : 0;
}

GPUBPF_FN u64 gpubpf_global_id_at(u32 i)
{
	return gpubpf_block_idx_at(i) * gpubpf_block_dim_at(i) + gpubpf_thread_idx_at(i) + gpubpf_offset_at(i);
}

GPUBPF_FN u64 gpubpf_global_size_at(u32 i)
{
	return gpubpf_grid_dim_at(i) * gpubpf_block_dim_at(i);
}

GPUBPF_FN u32 gpubpf_dims(void)
{
	return gpubpf_host_thread ? gpubpf_host_thread->dims : 1;
}

GPUBPF_FN u32 gpubpf_sm(void)
{
	return gpubpf_host_thread ? gpubpf_host_thread->sm : 0;
}

GPUBPF_FN u32 gpubpf_lane(void)
{
	return gpubpf_host_thread ? gpubpf_host_thread->lane : 0;
}

GPUBPF_FN u32 gpubpf_warp(void)
{
	return gpubpf_host_thread ? gpubpf_host_thread->warp : 0;
}

/* Return CLOCK_MONOTONIC in ns, the clock to which the agent calibrates the clocks of devices. */
GPUBPF_FN u64 gpubpf_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

#endif
