/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the application has allocated, as gpubpf_allocation() reports it. Included by probes and by the agent,
 * which maintains the table. New members are added only at the end.
 */
#ifndef GPUBPF_ALLOCATION_H
#define GPUBPF_ALLOCATION_H

#include "ctx.h"

enum gpubpf_allocation_kind {
	GPUBPF_ALLOCATION_DEVICE = 1,  /* device memory; every OpenCL buffer, however it was created */
	GPUBPF_ALLOCATION_MANAGED = 2, /* memory that device and host share: managed, shared USM, SVM */
	GPUBPF_ALLOCATION_HOST = 3,    /* host memory that devices can access: pinned, registered, host USM */
};

/* The number of a stack in the session, 0 if unknown. The tool prints the stack as function names. */
typedef gpubpf_u32 gpubpf_stack_number;

/* An address that is no C pointer. The tool prints it in hexadecimal, like pointers and uintptr_t. */
typedef gpubpf_u64 gpubpf_address;

struct gpubpf_allocation {
	gpubpf_address base; /* address that kernels see */
	gpubpf_u64 size;     /* bytes */
	gpubpf_u32 kind;     /* enum gpubpf_allocation_kind */
	/* counts from 0 in the order in which the process made the allocations; never reused */
	gpubpf_u32 number;
	gpubpf_stack_number stack; /* stack of the allocating thread; 0 if no loaded program queried allocations then */
	gpubpf_u32 unused;
};

/* For map_flags of an ARRAY with values of this type. The element whose index is an allocation's number describes the
 * allocation. It is set as soon as programs find the allocation, and stays after the allocation is freed. For
 * allocations made before the session began, it describes the part that still exists. If the agent cannot update a
 * device while a kernel runs (HIP), an allocation that is made and freed meanwhile has no element. Processes that share
 * the maps of a CPU device share the elements: the first process's element stays. */
#define GPUBPF_F_ALLOCATIONS (1u << 27)

#endif
