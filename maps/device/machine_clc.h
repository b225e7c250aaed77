/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer as OpenCL C 1.2 text, for the compilers of vendors. The atomics of OpenCL C 1.2 are relaxed. Memory
 * accesses are ordered in other ways. Compilers do not reorder volatile accesses, and x86 reorders neither loads with
 * loads nor stores with stores. Fences order the rest.
 */
#ifndef GPUBPF_MAPS_MACHINE_CLC_H
#define GPUBPF_MAPS_MACHINE_CLC_H

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#include "machine_opencl.h"

#ifdef GPUBPF_NVPTX_ASM
#include "machine_clc_nvptx.h"
#else
#include "machine_clc_plain.h"
#endif

#define GPUBPF_CLC_RMW(type, name, function) \
	GPUBPF_FN type gpubpf_rmw_##name##_##type(u64 a, type v) \
	{ \
		type old; \
		gpubpf_fence(); \
		old = function((volatile __global type *)a, v); \
		gpubpf_fence(); \
		return old; \
	}

#define GPUBPF_CLC_OPS(type, prefix) \
	GPUBPF_FN type gpubpf_load_##type(u64 a) \
	{ \
		return *(volatile __global gpubpf_##type##a *)a; \
	} \
	GPUBPF_FN type gpubpf_load_acquire_##type(u64 a) \
	{ \
		type v = *(volatile __global gpubpf_##type##a *)a; \
		gpubpf_fence(); \
		return v; \
	} \
	GPUBPF_FN void gpubpf_store_##type(u64 a, type v) \
	{ \
		*(volatile __global gpubpf_##type##a *)a = v; \
	} \
	GPUBPF_FN void gpubpf_store_release_##type(u64 a, type v) \
	{ \
		gpubpf_fence(); \
		*(volatile __global gpubpf_##type##a *)a = v; \
	} \
	GPUBPF_FN void gpubpf_add_##type(u64 a, type v) \
	{ \
		(void)prefix##add((volatile __global type *)a, v); \
	} \
	GPUBPF_CLC_RMW(type, add, prefix##add) \
	GPUBPF_CLC_RMW(type, or, prefix##or) \
	GPUBPF_CLC_RMW(type, and, prefix##and) \
	GPUBPF_CLC_RMW(type, xor, prefix##xor) \
	GPUBPF_CLC_RMW(type, xchg, prefix##xchg) \
	GPUBPF_FN type gpubpf_cas_##type(u64 a, type expected, type v) \
	{ \
		type old; \
		gpubpf_fence(); \
		old = prefix##cmpxchg((volatile __global type *)a, expected, v); \
		gpubpf_fence(); \
		return old; \
	} \
	GPUBPF_FN type gpubpf_fetch_add_relaxed_##type(u64 a, type v) \
	{ \
		return prefix##add((volatile __global type *)a, v); \
	} \
	GPUBPF_FN type gpubpf_cas_relaxed_##type(u64 a, type expected, type v) \
	{ \
		return prefix##cmpxchg((volatile __global type *)a, expected, v); \
	}

GPUBPF_CLC_OPS(u32, atomic_)
GPUBPF_CLC_OPS(u64, atom_)

GPUBPF_FN void gpubpf_max_u64(u64 a, u64 v)
{
	(void)atom_max((volatile __global u64 *)a, v);
}

#endif
