/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the application has allocated, as gpubpf_allocation() tells of it. Included by probes and by the agent that
 * keeps the table; later members come at the end.
 */
#ifndef GPUBPF_ALLOCATION_H
#define GPUBPF_ALLOCATION_H

#include "ctx.h"

enum gpubpf_allocation_kind {
	GPUBPF_ALLOCATION_DEVICE = 1,  /* of a device, an OpenCL buffer whatever it was made of */
	GPUBPF_ALLOCATION_MANAGED = 2, /* of device and host alike: managed, shared USM, SVM */
	GPUBPF_ALLOCATION_HOST = 3,    /* of the host, that devices reach: pinned, registered, host USM */
};

/* A stack by its number in the session, which the tool shows as its functions; 0: none is known. */
typedef gpubpf_u32 gpubpf_stack_number;

/* An address that is no C pointer: the tool shows it in hex, as it does pointers and uintptr_t. */
typedef gpubpf_u64 gpubpf_address;

struct gpubpf_allocation {
	gpubpf_address base;       /* as kernels see it */
	gpubpf_u64 size;           /* bytes */
	gpubpf_u32 kind;           /* enum gpubpf_allocation_kind */
	gpubpf_u32 number;         /* from 0 in the order in which the process made them; never used again */
	gpubpf_stack_number stack; /* of the thread that made it, if programs were there that ask for allocations */
	gpubpf_u32 unused;
};

/* In map_flags of an ARRAY whose values are of this type: the element of an allocation's number has it, as soon as programs find
 * the allocation, and also when it is freed; of those that were made when no session was there, what is left of them then. Where
 * a device cannot be told beside a running kernel (HIP), one that comes and goes meanwhile has none. Processes that share a CPU
 * device's maps share the elements: the first one's stays. */
#define GPUBPF_F_ALLOCATIONS (1u << 27)

#endif
