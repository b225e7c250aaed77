/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer as OpenCL C text for NVIDIA's compiler, which accepts inline PTX. It has the operations of
 * machine_nvptx.h, for sm_70 and later.
 */
#ifndef GPUBPF_MAPS_MACHINE_CLC_NVPTX_H
#define GPUBPF_MAPS_MACHINE_CLC_NVPTX_H

#define GPUBPF_HAS_WARP 1

GPUBPF_FN void gpubpf_fence(void)
{
	__asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	__asm__ volatile("membar.sys;" ::: "memory");
}

GPUBPF_FN u32 gpubpf_sm(void)
{
	u32 id;

	__asm__ volatile("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

#define GPUBPF_HAS_GRID_ID 1
GPUBPF_FN u64 gpubpf_grid_id(void)
{
	u64 id;

	__asm__("mov.u64 %0, %%gridid;" : "=l"(id));
	return id;
}

GPUBPF_FN u32 gpubpf_lane(void)
{
	u32 id;

	__asm__ volatile("mov.u32 %0, %%laneid;" : "=r"(id));
	return id;
}

GPUBPF_FN u32 gpubpf_warp(void)
{
	return gpubpf_item_linear() / 32;
}

GPUBPF_FN u64 gpubpf_clock(void)
{
	u64 ns;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

GPUBPF_FN u32 gpubpf_warp_active(void)
{
	u32 mask;

	__asm__ volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
}

GPUBPF_FN u32 gpubpf_warp_peers(u64 key)
{
	u32 low, high, active = gpubpf_warp_active();

	__asm__ volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(low) : "r"((u32)key), "r"(active));
	__asm__ volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(high) : "r"((u32)(key >> 32)), "r"(active));
	return low & high;
}

GPUBPF_FN u32 gpubpf_warp_count(u32 mask)
{
	return popcount(mask);
}

GPUBPF_FN u32 gpubpf_warp_one(u32 mask)
{
	u32 lane;

	__asm__ volatile("bfind.u32 %0, %1;" : "=r"(lane) : "r"(mask));
	return lane;
}

GPUBPF_FN u32 gpubpf_warp_first(u32 mask)
{
	return 31 - clz(mask & (0u - mask));
}

GPUBPF_FN u64 gpubpf_warp_from(u32 peers, u64 value, u32 lane)
{
	u32 low = (u32)value, high = (u32)(value >> 32);

	__asm__ volatile("shfl.sync.idx.b32 %0, %0, %1, 31, %2;" : "+r"(low) : "r"(lane), "r"(peers));
	__asm__ volatile("shfl.sync.idx.b32 %0, %0, %1, 31, %2;" : "+r"(high) : "r"(lane), "r"(peers));
	return (u64)high << 32 | low;
}

GPUBPF_FN u32 gpubpf_warp_ballot(u32 lanes, u32 bit)
{
	u32 set;

	__asm__ volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
			 : "=r"(set)
			 : "r"(bit), "r"(lanes));
	return set;
}

GPUBPF_FN void gpubpf_warp_sync(u32 lanes)
{
	__asm__ volatile("bar.warp.sync %0;" : : "r"(lanes) : "memory");
}

GPUBPF_FN u32 gpubpf_warp_same(u64 key)
{
	u32 active = gpubpf_warp_active();

	return gpubpf_warp_ballot(active, key == gpubpf_warp_from(active, key, gpubpf_warp_first(active)));
}

#endif
