/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer of the device library. Each target has a file machine_<name>.h that implements the functions below.
 * Addresses are u64 in all of them.
 *
 *   loads, stores     gpubpf_load_u32/u64 and gpubpf_store_u32/u64: relaxed, of aligned words;
 *                     gpubpf_load_acquire_*, gpubpf_store_release_*;
 *                     gpubpf_fence: acquire and release at device scope; gpubpf_fence_system.
 *                     gpubpf_load_system_u64, gpubpf_store_system_u64: relaxed, for memory that the host accesses while
 *                     kernels run; without GPUBPF_HAS_SYSTEM_WORDS they are the same as at device scope
 *   atomics           acquire and release: gpubpf_rmw_<add|or|and|xor|xchg>_<type>, gpubpf_cas_<type>;
 *                     relaxed: gpubpf_add_<type>, gpubpf_fetch_add_relaxed_<type>, gpubpf_cas_relaxed_<type>
 *   coordinates       gpubpf_block_idx_at(i), block_dim_at, thread_idx_at, grid_dim_at, offset_at,
 *                     gpubpf_global_id_at(i), gpubpf_global_size_at(i), gpubpf_dims();
 *                     with GPUBPF_KNOWS_LINE: gpubpf_is_line() is true if the launch has one dimension
 *   the lane          gpubpf_sm(): the multiprocessor. It may be any number; callers use it modulo their number of
 *                     copies. With GPUBPF_NUMBERS_SMS it is nearly always below the number of multiprocessors,
 *                     and gpubpf_or_u64(address, bits) sets bits of a word; it is relaxed and has no result;
 *                     gpubpf_lane(), gpubpf_warp(), gpubpf_clock() in cycles
 *   warps             with GPUBPF_HAS_WARP:
 *                     gpubpf_warp_active(): mask of the active lanes;
 *                     gpubpf_warp_peers(u64 key): mask of the active lanes with the same key;
 *                     gpubpf_warp_same(u64 key): mask of the active lanes with the first active lane's key;
 *                     gpubpf_warp_from(peers, u64 value, lane): the argument `value` of lane number `lane`;
 *                     gpubpf_warp_ballot(u32 lanes, u32 bit): mask of the lanes whose bit is true;
 *                     gpubpf_warp_any(lanes, bit): true if the bit is true in any lane;
 *                     gpubpf_warp_one(u32 lanes): the number of one of the lanes;
 *                     gpubpf_warp_sync(u32 lanes): the memory accesses of these lanes before the call precede their
 *                     accesses after the call
 *                     with GPUBPF_HAS_MATCH:
 *                     gpubpf_warp_match(lanes, u32 key): true if all these active lanes have the same key;
 *                     gpubpf_product(u64 a, u32 b): a * b
 *                     with GPUBPF_HAS_WAVE, for up to 64 lanes:
 *                     gpubpf_wave_ballot(bool condition), gpubpf_wave_peers(u64 key)
 *                     GPUBPF_COMBINES_ADDS: the assembler combines adds of a constant by all lanes
 *
 * gpubpf_max_u64(address, value) takes the maximum of a word and a number. It is relaxed and has no result.
 *
 * The code uses only the common subset of OpenCL C 1.2 and C: no generic pointers, recursion, function pointers,
 * varargs or program-scope variables.
 */
#ifndef GPUBPF_MAPS_MACHINE_H
#define GPUBPF_MAPS_MACHINE_H

#include "devlib.h"

#if defined(GPUBPF_BITCODE)
#define GPUBPF_FN __attribute__((always_inline))
#define GPUBPF_NOUNROLL _Pragma("nounroll") /* ptxas would unroll a rarely executed loop into a thousand instructions */
#else
#define GPUBPF_NOUNROLL
#define GPUBPF_FN static inline __attribute__((always_inline, unused))
#endif

/*
 * Types for memory accesses. Map memory is accessed as aligned words, whatever type the program stored there. Private
 * memory may have any alignment (types gpubpf_u*u).
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
 * Limits of the loop iterations in which a lane waits for another lane. The normal limit is GPUBPF_MAX_WAIT_TURNS.
 * After a wait on the same map has timed out, it is GPUBPF_SHORT_WAIT_TURNS. After a timeout the operation does nothing
 * and returns an error. The limit is high because a busy operating system may deschedule a CPU thread for a tenth of a
 * second.
 */
#ifndef GPUBPF_MAX_WAIT_TURNS
#define GPUBPF_MAX_WAIT_TURNS (1u << 22)
#define GPUBPF_SHORT_WAIT_TURNS (1u << 10)
#endif

#ifndef GPUBPF_HAS_SYSTEM_WORDS
GPUBPF_FN u64 gpubpf_load_system_u64(u64 a)
{
	return gpubpf_load_u64(a);
}

GPUBPF_FN void gpubpf_store_system_u64(u64 a, u64 v)
{
	gpubpf_store_u64(a, v);
}
#endif

#ifndef GPUBPF_HAS_GRID_ID
GPUBPF_FN u64 gpubpf_grid_id(void)
{
	return 0;
}
#endif

/*
 * A waiting lane calls this function once per iteration. On the host, it sleeps after some iterations; on devices it
 * does nothing.
 */
#ifndef GPUBPF_HAS_REST
GPUBPF_FN void gpubpf_rest(u32 turns)
{
	(void)turns;
}
#endif

/* marks a large function that is called from many places but runs rarely */
#ifndef GPUBPF_FN_NOINLINE
#define GPUBPF_FN_NOINLINE GPUBPF_FN
#endif

/*
 * Precedes a loop over words of private memory. Without unrolling, the variable index would keep this memory out of
 * registers.
 */
#ifndef GPUBPF_UNROLL
#define GPUBPF_UNROLL
#define GPUBPF_UNROLLED 0 /* 1: loops must have no early exit, because the compiler does not unroll such loops */
#endif

#endif
