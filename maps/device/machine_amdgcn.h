/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer for AMD devices, compiled by LLVM. Sizes of the launch come from the dispatch packet (HSA 2.9.6),
 * which is the same in all versions of code objects. LLVM's atomic optimiser combines the atomics that a wave executes
 * on one address.
 */
#ifndef GPUBPF_MAPS_MACHINE_AMDGCN_H
#define GPUBPF_MAPS_MACHINE_AMDGCN_H

#include "machine_scoped.h"

#define GPUBPF_HAS_WAVE 1

/* Words that the host reads and writes while kernels run, in fine-grained host memory, which no cache of the GPU keeps. */
#define GPUBPF_HAS_SYSTEM_WORDS 1
GPUBPF_FN u64 gpubpf_load_system_u64(u64 a)
{
	return __scoped_atomic_load_n((GPUBPF_DEVMEM gpubpf_u64a *)a, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

GPUBPF_FN void gpubpf_store_system_u64(u64 a, u64 v)
{
	__scoped_atomic_store_n((GPUBPF_DEVMEM gpubpf_u64a *)a, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

#define GPUBPF_UNROLL _Pragma("clang loop unroll(full)")
#define GPUBPF_UNROLLED 1

/* the first members of hsa_kernel_dispatch_packet_t */
struct gpubpf_dispatch {
	u16 header, setup;
	u16 block[3], reserved;
	u32 grid[3];
};

GPUBPF_FN __constant const struct gpubpf_dispatch *gpubpf_dispatch(void)
{
	return (__constant const struct gpubpf_dispatch *)__builtin_amdgcn_dispatch_ptr();
}

GPUBPF_FN u64 gpubpf_block_idx_at(u32 i)
{
	return i == 0 ? __builtin_amdgcn_workgroup_id_x() :
	       i == 1 ? __builtin_amdgcn_workgroup_id_y() :
			__builtin_amdgcn_workgroup_id_z();
}

GPUBPF_FN u64 gpubpf_thread_idx_at(u32 i)
{
	return i == 0 ? __builtin_amdgcn_workitem_id_x() :
	       i == 1 ? __builtin_amdgcn_workitem_id_y() :
			__builtin_amdgcn_workitem_id_z();
}

GPUBPF_FN u64 gpubpf_global_size_at(u32 i)
{
	return gpubpf_dispatch()->grid[i];
}

/* Return the size of the work-group. The last work-group may be smaller than the others. */
GPUBPF_FN u64 gpubpf_block_dim_at(u32 i)
{
	u32 block = gpubpf_dispatch()->block[i];
	u64 left = gpubpf_global_size_at(i) - gpubpf_block_idx_at(i) * block;

	return left < block ? left : block;
}

GPUBPF_FN u64 gpubpf_grid_dim_at(u32 i)
{
	/* the sizes of the grid and of the work-group are never 0 */
	return (gpubpf_dispatch()->grid[i] - 1) / gpubpf_dispatch()->block[i] + 1;
}

GPUBPF_FN u64 gpubpf_offset_at(u32 i)
{
	return 0;
}

GPUBPF_FN u64 gpubpf_global_id_at(u32 i)
{
	return gpubpf_block_idx_at(i) * gpubpf_dispatch()->block[i] + gpubpf_thread_idx_at(i);
}

GPUBPF_FN u32 gpubpf_dims(void)
{
	return gpubpf_dispatch()->setup & 3;
}

/*
 * Return a number that distributes work-groups over per-multiprocessor copies. The id of the compute unit is in another
 * register on each hardware generation, so the number is computed from the work-group's coordinates.
 */
GPUBPF_FN u32 gpubpf_sm(void)
{
	return (u32)(gpubpf_block_idx_at(0) + gpubpf_block_idx_at(1) * 11 + gpubpf_block_idx_at(2) * 101);
}

GPUBPF_FN u32 gpubpf_lane(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

/* LLVM's intrinsic, because each of clang's builtins is for one wave size, and this library is compiled for both */
__attribute__((convergent)) u64 gpubpf_amdgcn_ballot(bool condition) __asm("llvm.amdgcn.ballot.i64");

GPUBPF_FN u64 gpubpf_wave_ballot(bool condition)
{
	return gpubpf_amdgcn_ballot(condition);
}

/*
 * Return the mask of the active lanes that have this lane's key. In each iteration the first remaining lane broadcasts
 * its key, and the lanes with this key leave the loop.
 */
GPUBPF_FN u64 gpubpf_wave_peers(u64 key)
{
	for (;;) {
		u32 low = (u32)__builtin_amdgcn_readfirstlane((int)(u32)key);
		u32 high = (u32)__builtin_amdgcn_readfirstlane((int)(u32)(key >> 32));
		bool same = key == ((u64)high << 32 | low);
		u64 peers = gpubpf_wave_ballot(same);

		if (same)
			return peers;
	}
}

GPUBPF_FN u32 gpubpf_warp(void)
{
	return (u32)((gpubpf_thread_idx_at(2) * gpubpf_block_dim_at(1) + gpubpf_thread_idx_at(1)) * gpubpf_block_dim_at(0) +
		     gpubpf_thread_idx_at(0)) /
	       __builtin_amdgcn_wavefrontsize();
}

GPUBPF_FN u64 gpubpf_clock(void)
{
	return __builtin_readsteadycounter();
}

/* No fence for the host is needed: it reads copies of the maps, which the agent makes after kernels have ended. */
GPUBPF_FN void gpubpf_fence_system(void)
{
	gpubpf_fence();
}

#endif
