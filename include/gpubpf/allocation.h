/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of memory that the application has allocated, as gpubpf_allocation() returns it. Programs and the
 * agent include this header; the agent maintains the table of allocations. New members are added only at the end.
 */
#ifndef GPUBPF_ALLOCATION_H
#define GPUBPF_ALLOCATION_H

#include "ctx.h"

enum gpubpf_allocation_kind {
	GPUBPF_ALLOCATION_DEVICE = 1, /* device memory; also every OpenCL buffer, however it was created */
	/* memory shared by the device and the host: CUDA managed memory, shared USM, SVM */
	GPUBPF_ALLOCATION_MANAGED = 2,
	GPUBPF_ALLOCATION_HOST = 3, /* host memory that devices can access: pinned or registered memory, host USM */
};

/* The number of a call stack in the session; 0 if unknown. The tool prints the stack as function names. */
typedef gpubpf_u32 gpubpf_stack_number;

/* An address that is not a C pointer. The tool prints it in hexadecimal, as it prints pointers and uintptr_t. */
typedef gpubpf_u64 gpubpf_address;

struct gpubpf_allocation {
	gpubpf_address base; /* address in GPU kernels */
	gpubpf_u64 size;     /* bytes */
	gpubpf_u32 kind;     /* enum gpubpf_allocation_kind */
	/* number of the allocation in the process, from 0, in the order of allocation; never reused */
	gpubpf_u32 number;
	/* stack of the allocating thread; 0 if no program that queries allocations was loaded then */
	gpubpf_stack_number stack;
	gpubpf_u32 unused;
};

/*
 * A value of map_flags, for an ARRAY whose values are struct gpubpf_allocation. The session fills in the elements: the
 * index of an element is the number of the allocation. An element is set when programs can find the allocation, and it
 * stays after the allocation is freed.
 *
 * - Part of an allocation may have been freed before the session began. Then the element describes the remaining part.
 * - With HIP, the agent cannot update a device while a GPU kernel runs. An allocation that is made and freed during
 * this time has no element.
 * - On a CPU device, processes share the maps. If two processes have an allocation of the same number, the element
 * describes that of the first process.
 */
#define GPUBPF_F_ALLOCATIONS (1u << 27)

#endif
