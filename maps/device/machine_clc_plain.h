/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer as OpenCL C text, for CPUs and other devices whose compiler does not accept inline PTX: lane
 * functions and memory order.
 */
#ifndef GPUBPF_MAPS_MACHINE_CLC_PLAIN_H
#define GPUBPF_MAPS_MACHINE_CLC_PLAIN_H

#if defined(GPUBPF_CLOCK_KHR)
#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable
#if __OPENCL_C_VERSION__ < 300 /* Intel's library has the function, but declares it only for OpenCL C 3.0 and later */
ulong __attribute__((overloadable)) clock_read_device(void);
#endif
#endif
#ifdef GPUBPF_SUBGROUPS
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif

#if defined(__x86_64__) || defined(GPUBPF_X86)
#define GPUBPF_MAX_WAIT_TURNS (1u << 26) /* takes about a second */
#define GPUBPF_SHORT_WAIT_TURNS (1u << 14)
#endif

#include "machine_lane.h"

/* On x86, volatile accesses and atomics are ordered without a fence instruction. */
GPUBPF_FN void gpubpf_fence(void)
{
#if defined(__x86_64__) || defined(GPUBPF_X86)
#elif __OPENCL_C_VERSION__ >= 200 && __OPENCL_C_VERSION__ < 300
	atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
#else
	mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	mem_fence(CLK_GLOBAL_MEM_FENCE);
}

GPUBPF_FN u64 gpubpf_clock(void)
{
#if defined(GPUBPF_CLOCK_TSC)
	return __builtin_readcyclecounter(); /* a builtin, because PoCL before 7.0 may crash on inline assembly */
#elif defined(GPUBPF_CLOCK_KHR)
	return clock_read_device();
#else
	return 0;
#endif
}

#endif
