/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks that bench/sanitizer.c inserts at thread exits. They do the same work as the counter of
 * bench/probes.bpf.c, with a separate count for each multiprocessor. One lane of each converged group adds for the
 * group.
 */
#include <cstdint>

#include <sanitizer_patching.h>

extern "C" __device__ __noinline__ SanitizerPatchResult count_exits(void *counts, uint64_t)
{
	uint32_t active, below, lane, multiprocessor;

	asm volatile("activemask.b32 %0;" : "=r"(active));
	asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
	asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
	lane = active & below;
	if (!lane)
		atomicAdd((unsigned long long *)counts + 16 * (multiprocessor % 256), (unsigned long long)__popc(active));
	return SANITIZER_PATCH_SUCCESS;
}

extern "C" __device__ __noinline__ SanitizerPatchResult nothing(void *, uint64_t)
{
	return SANITIZER_PATCH_SUCCESS;
}
