/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the helpers that use no map (include/gpubpf/helpers.def). */
#ifndef GPUBPF_MAPS_HELPERS_H
#define GPUBPF_MAPS_HELPERS_H

#include "ctx.h"
#include "words.h"

#define GPUBPF_ITER_MAX (8 << 20) /* maximum numbers of an iterator: BPF_MAX_LOOPS of the Linux kernel */

/*
 * Load a word of the arena's header that does not change while a GPU kernel runs, so that any cache may serve the load.
 */
GPUBPF_FN u64 gpubpf_header_word(GPUBPF_ENV, u32 offset)
{
	return *(GPUBPF_DEVMEM const gpubpf_u64a *)(env->arena + offset);
}

GPUBPF_FN u64 gpubpf_clock_word(GPUBPF_ENV, u32 i)
{
	return gpubpf_header_word(env, GPUBPF_ARENA_CLOCK + 8 * i);
}

/*
 * Return CLOCK_MONOTONIC in ns: clock_ns + (cycles - clock_cycles) * clock_mult / 2^32. The product may need more than
 * 64 bits, so it is computed from 32-bit halves. The difference of cycles may be negative; then the result is before
 * clock_ns.
 */
GPUBPF_FN u64 gpubpf_scaled_clock(GPUBPF_ENV)
{
	u64 cycles = gpubpf_clock() - gpubpf_clock_word(env, 0);
	u64 mult = gpubpf_clock_word(env, 2);
	u64 high = (u64)((s64)cycles >> 32), low = cycles & 0xffffffffu;

	return gpubpf_clock_word(env, 1) + high * mult + low * (mult >> 32) + ((low * (mult & 0xffffffffu)) >> 32);
}

GPUBPF_FN u64 gpubpf_helper_ktime_get_ns(GPUBPF_ENV)
{
#ifdef GPUBPF_CLOCK_IS_NS
	return gpubpf_clock();
#else
	return env->flags & GPUBPF_ENV_CLOCK ? gpubpf_clock() + env->clock_offset : gpubpf_scaled_clock(env);
#endif
}

GPUBPF_FN u64 gpubpf_helper_get_globaltimer(GPUBPF_ENV)
{
	return gpubpf_helper_ktime_get_ns(env) + gpubpf_header_word(env, GPUBPF_ARENA_UNIX);
}

/*
 * Helper 7: advances a counter and returns its value, mixed by splitmix64. No two calls in a session get the same
 * counter value.
 */
GPUBPF_FN u64 gpubpf_helper_get_prandom_u32(GPUBPF_ENV)
{
	u64 line = GPUBPF_ARENA_RNG + (gpubpf_sm() % GPUBPF_ARENA_RNG_COPIES) * (u64)GPUBPF_REPLICA_ALIGN;
	u64 x = gpubpf_rmw_add_u64(env->arena + line, 0x9e3779b97f4a7c15ul);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
	return (x ^ (x >> 31)) & 0xffffffffu;
}

GPUBPF_FN u64 gpubpf_helper_get_sm_id(GPUBPF_ENV)
{
	u32 sm = gpubpf_sm(), replicas = (u32)gpubpf_header_word(env, GPUBPF_ARENA_REPLICAS);

	return sm < replicas || replicas == 0 ? sm : sm % replicas;
}

GPUBPF_FN u64 gpubpf_helper_get_smp_processor_id(GPUBPF_ENV)
{
	return gpubpf_helper_get_sm_id(env);
}

GPUBPF_FN u64 gpubpf_helper_get_warp_id(GPUBPF_ENV)
{
	return gpubpf_warp();
}

GPUBPF_FN u64 gpubpf_helper_get_lane_id(GPUBPF_ENV)
{
	return gpubpf_lane();
}

GPUBPF_FN u64 gpubpf_helper_warp_ballot(GPUBPF_ENV, u64 condition)
{
#ifdef GPUBPF_HAS_WARP
	return gpubpf_warp_ballot(gpubpf_warp_active(), condition != 0);
#elif defined(GPUBPF_HAS_WAVE)
	return gpubpf_wave_ballot(condition != 0);
#else
	return (u64)(condition != 0) << (gpubpf_lane() & 63);
#endif
}

GPUBPF_FN u64 gpubpf_lanes_given(u64 lanes)
{
#if defined(GPUBPF_HAS_WARP) || defined(GPUBPF_HAS_WAVE) || defined(GPUBPF_MACHINE_CODE)
	return lanes;
#else
	return lanes << (gpubpf_lane() & 63);
#endif
}

GPUBPF_FN u64 gpubpf_helper_warp_match(GPUBPF_ENV, u64 value)
{
#ifdef GPUBPF_HAS_WARP
	return gpubpf_warp_peers(value);
#elif defined(GPUBPF_HAS_WAVE)
	return gpubpf_wave_peers(value);
#else
	return (u64)1 << (gpubpf_lane() & 63);
#endif
}

/* Helper 174: the cookie is a constant of the program. */
GPUBPF_FN u64 gpubpf_helper_get_attach_cookie(GPUBPF_ENV, u64 cookie)
{
	return cookie;
}

GPUBPF_FN void gpubpf_helper_atomic_max(GPUBPF_ENV, u64 word, u64 value)
{
	gpubpf_atomic_max_u64(word, value);
}

GPUBPF_FN u64 gpubpf_helper_get_device_id(GPUBPF_ENV)
{
	return env->device;
}

GPUBPF_FN u64 gpubpf_helper_get_current_pid_tgid(GPUBPF_ENV)
{
	return env->pid_tgid & GPUBPF_LAUNCH_PID;
}

GPUBPF_FN u64 gpubpf_helper_gpu_membar(GPUBPF_ENV)
{
	gpubpf_fence_system();
	return 0;
}

/*
 * Helper 182: compares bytes as unsigned numbers, like strncmp() of the Linux kernel. `size2` is the size of the second
 * string with its NUL.
 */
GPUBPF_FN s64 gpubpf_helper_strncmp(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *s1, u64 size, GPUBPF_PRIVATE const u8 *s2,
				    u64 size2)
{
	u64 limit = size < size2 ? size : size2, i = 0;

	while (i < limit && s1[i] == s2[i] && s1[i])
		i++;
	return i == limit || s1[i] == s2[i] ? 0 : s1[i] < s2[i] ? -1 : 1;
}

/*
 * Helpers 540 to 542, as in the Linux kernel. The iterator has two numbers of 4 bytes: the
 * current number, and the end.
 */
GPUBPF_FN s64 gpubpf_helper_iter_num_new(GPUBPF_ENV, GPUBPF_PRIVATE u8 *it, u64 start, u64 end)
{
	GPUBPF_PRIVATE gpubpf_u32u *number = (GPUBPF_PRIVATE gpubpf_u32u *)it;
	s64 n = (s64)(s32)end - (s32)start;
	u32 any = n > 0 && n <= GPUBPF_ITER_MAX;

	number[0] = any ? (u32)start - 1 : 0;
	number[1] = any ? (u32)end : 0;
	return n < 0 ? -GPUBPF_EINVAL : n > GPUBPF_ITER_MAX ? -GPUBPF_E2BIG : 0;
}

GPUBPF_FN u64 gpubpf_helper_iter_num_next(GPUBPF_ENV, GPUBPF_PRIVATE u8 *it)
{
	GPUBPF_PRIVATE gpubpf_u32u *number = (GPUBPF_PRIVATE gpubpf_u32u *)it;

	if ((s32)(number[0] + 1) >= (s32)number[1]) {
		number[0] = 0;
		number[1] = 0;
		return 0;
	}
	number[0]++;
	return 1;
}

GPUBPF_FN void gpubpf_helper_iter_num_destroy(GPUBPF_ENV, GPUBPF_PRIVATE u8 *it)
{
	(void)it;
}

#define GPUBPF_HELPER3(name, source) \
	GPUBPF_FN s64 gpubpf_helper_##name(GPUBPF_ENV, GPUBPF_PRIVATE u64 *x, GPUBPF_PRIVATE u64 *y, \
					   GPUBPF_PRIVATE u64 *z) \
	{ \
		*x = source(0); \
		*y = source(1); \
		*z = source(2); \
		return 0; \
	}

GPUBPF_HELPER3(get_block_idx, gpubpf_block_idx_at)
GPUBPF_HELPER3(get_block_dim, gpubpf_block_dim_at)
GPUBPF_HELPER3(get_thread_idx, gpubpf_thread_idx_at)
GPUBPF_HELPER3(get_grid_dim, gpubpf_grid_dim_at)

/* Returns the size of the data buffer of a direct run (core/wire/direct.h), or 0 if the kernel is not gpubpf's. */
GPUBPF_FN u64 gpubpf_helper_data_size(GPUBPF_ENV)
{
	return env->arg[2] == GPUBPF_DIRECT_KEY || env->arg[2] == GPUBPF_SERVE_KEY ? env->arg[1] : 0;
}

GPUBPF_FN u64 gpubpf_helper_data(GPUBPF_ENV, u64 offset, u64 size)
{
	u64 room = gpubpf_helper_data_size(env), align = (size | 8) & (0 - (size | 8));

	if (!size || size > room || offset > room - size || (offset & (align - 1)))
		return 0;
	return env->arg[0] + GPUBPF_DIRECT_DATA + offset;
}

/* Stores the result of the first thread of a direct run, or of a request to an executor. */
GPUBPF_FN void gpubpf_direct_result(GPUBPF_ENV, u64 result)
{
	if (env->arg[2] == GPUBPF_DIRECT_KEY && gpubpf_ctx_global_linear(0) == 0)
		*(GPUBPF_DEVMEM gpubpf_u64a *)env->arg[0] = result;
	if (env->arg[2] == GPUBPF_SERVE_KEY &&
	    !(gpubpf_thread_idx_at(0) | gpubpf_thread_idx_at(1) | gpubpf_thread_idx_at(2)))
		*(GPUBPF_DEVMEM gpubpf_u64a *)env->arg[3] = result;
}

/*
 * Helper 530. `bits` is the size of the parameter in bits. If it is negative, the value is sign-extended. If it is 0,
 * there is no such parameter, and the result is 0.
 */
GPUBPF_FN u64 gpubpf_helper_named_arg(GPUBPF_ENV, u64 index, u64 bits)
{
	s64 size = (s64)bits;

	if (size < 0)
		return (u64)((s64)(env->arg[index] << (64 + size)) >> (64 + size));
	return size ? env->arg[index] : 0;
}

GPUBPF_FN s64 gpubpf_helper_read_arg(GPUBPF_ENV, u64 param_off, u64 param_size, u64 offset, GPUBPF_PRIVATE u8 *to, u64 size)
{
	u64 i;

	if (!(u64)env->arg_bytes || offset > param_size || size > param_size - offset)
		return -GPUBPF_EINVAL;
	for (i = 0; i < size; i++)
		to[i] = env->arg_bytes[param_off + offset + i];
	return 0;
}

#endif
