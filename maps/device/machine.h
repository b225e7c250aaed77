/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer of the device library. Each target has a file machine_<name>.h with the same functions. Addresses
 * are u64 in all of them.
 *
 *   loads, stores     gpubpf_load_u32/u64 and gpubpf_store_u32/u64 (relaxed, whole words),
 *                     gpubpf_load_acquire_*, gpubpf_store_release_*, gpubpf_fence (acquire and release
 *                     at device scope), gpubpf_fence_system
 *   atomics           gpubpf_rmw_<add|or|and|xor|xchg>_<type>, gpubpf_cas_<type> (acquire and release);
 *                     gpubpf_add_<type>, gpubpf_fetch_add_relaxed_<type>, gpubpf_cas_relaxed_<type>
 *                     (relaxed)
 *   coordinates       gpubpf_block_idx_at(i), block_dim_at, thread_idx_at, grid_dim_at, offset_at,
 *                     gpubpf_global_id_at(i), gpubpf_global_size_at(i), gpubpf_dims(); with GPUBPF_KNOWS_LINE
 *                     gpubpf_is_line(): the launch has one dimension
 *   the lane          gpubpf_sm() (any number: callers use it modulo their copies; with GPUBPF_NUMBERS_SMS it is
 *                     nearly always below the number of multiprocessors), gpubpf_lane(), gpubpf_warp(),
 *                     gpubpf_clock() in cycles
 *   warps             with GPUBPF_HAS_WARP:
 *                     gpubpf_warp_active(): mask of the active lanes;
 *                     gpubpf_warp_peers(u64 key): mask of the active lanes with the same key;
 *                     gpubpf_warp_same(u64 key): mask of the active lanes with the first active lane's key;
 *                     gpubpf_warp_from(peers, u64 value, lane): the lane's value;
 *                     gpubpf_warp_ballot(u32 lanes, u32 bit); gpubpf_warp_any(lanes, bit): is it true in any lane?
 *                     gpubpf_warp_one(u32 lanes): one of the lanes;
 *                     gpubpf_warp_sync(u32 lanes): orders the memory accesses of these lanes before the call
 *                     before their accesses after the call.
 *                     With GPUBPF_HAS_MATCH gpubpf_warp_match(lanes, u32 key): do all these active lanes have one
 *                     key? And gpubpf_product(u64 a, u32 b).
 *                     With GPUBPF_HAS_WAVE, for up to 64 lanes: gpubpf_wave_ballot(bool condition),
 *                     gpubpf_wave_peers(u64 key).
 *                     GPUBPF_COMBINES_ADDS: the assembler combines the adds of a constant by all lanes
 *
 * Only the common subset of OpenCL C 1.2 and C: no generic pointers, recursion, function pointers, varargs or
 * program-scope variables.
 */
#ifndef GPUBPF_MAPS_MACHINE_H
#define GPUBPF_MAPS_MACHINE_H

#include "devlib.h"

#if defined(GPUBPF_BITCODE)
#define GPUBPF_FN __attribute__((always_inline))
#define GPUBPF_NOUNROLL _Pragma("nounroll") /* ptxas would unroll a cold loop into a thousand instructions */
#else
#define GPUBPF_NOUNROLL
#define GPUBPF_FN static inline __attribute__((always_inline, unused))
#endif

/*
 * Map memory is accessed as words, whatever type a program stored there. Private memory may have any alignment
 * (gpubpf_u*u).
 */
typedef u32 gpubpf_u32a __attribute__((may_alias));
typedef u64 gpubpf_u64a __attribute__((may_alias));
typedef u64 gpubpf_u64u __attribute__((may_alias, aligned(1)));
typedef u32 gpubpf_u32u __attribute__((may_alias, aligned(1)));
typedef u16 gpubpf_u16u __attribute__((may_alias, aligned(1)));

#define GPUBPF_P32(address) ((volatile GPUBPF_DEVMEM gpubpf_u32a *)(address))
#define GPUBPF_P64(address) ((volatile GPUBPF_DEVMEM gpubpf_u64a *)(address))

#if defined(GPUBPF_BITCODE) && defined(__NVPTX__)
#include "machine_nvptx.h"
#elif defined(GPUBPF_BITCODE) && defined(__AMDGCN__)
#include "machine_amdgcn.h"
#elif defined(GPUBPF_BITCODE)
#include "machine_spirv.h"
#elif defined(GPUBPF_OPENCL)
#include "machine_clc.h"
#else
#include "machine_host.h"
#endif

/*
 * Maximum number of loop turns for which a lane waits for another lane: GPUBPF_MAX_WAIT_TURNS normally, and
 * GPUBPF_SHORT_WAIT_TURNS after an earlier wait on the map timed out. After a timeout the operation does nothing and
 * returns an error. The limit is high because a busy operating system may deschedule a CPU thread for a tenth of a
 * second.
 */
#ifndef GPUBPF_MAX_WAIT_TURNS
#define GPUBPF_MAX_WAIT_TURNS (1u << 22)
#define GPUBPF_SHORT_WAIT_TURNS (1u << 10)
#endif

/*
 * A waiting lane calls this once per turn. On a machine whose threads can yield their processor it does so after some
 * turns.
 */
#ifndef GPUBPF_HAS_REST
GPUBPF_FN void gpubpf_rest(u32 turns)
{
	(void)turns;
}
#endif

/* marks a function that has many callers but runs rarely */
#ifndef GPUBPF_FN_NOINLINE
#define GPUBPF_FN_NOINLINE GPUBPF_FN
#endif

/* precedes a loop over words of private memory, where a variable index would keep the memory out of registers */
#ifndef GPUBPF_UNROLL
#define GPUBPF_UNROLL
#define GPUBPF_UNROLLED 0 /* 1: the compiler unrolls such a loop only if it has no early exit */
#endif

#endif
