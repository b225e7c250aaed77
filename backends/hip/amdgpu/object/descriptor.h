/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel descriptors (AMDGPU Usage, "Kernel Descriptor") and the registers with which a wave begins ("Initial Kernel
 * Execution State"). The registers hold the fields that a descriptor requests, in order.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_DESCRIPTOR_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hip/amdgpu/isa/isa.h"

#define HIP_MAX_VECTOR 256    /* registers of each kind that code can name */
#define HIP_MAX_USER_SGPRS 16 /* user registers with which a wave begins; its group's fields are not counted */
#define HIP_MAX_GROUP 65536   /* bytes of group memory that every processor has */

struct hip_descriptor {
	uint32_t group_size, private_size, kernarg_size, reserved0;
	int64_t entry; /* bytes from the descriptor to the code */
	uint32_t reserved1[5];
	uint32_t rsrc3, rsrc1, rsrc2;
	uint16_t properties, preload;
	uint32_t reserved2;
};

enum { /* rsrc2 */
       HIP_PRIVATE_SEGMENT = 1 << 0,
       HIP_USER_SGPRS_SHIFT = 1,
       HIP_USER_SGPRS = 0x1f << 1,
       HIP_GROUP_IDS = 0xf << 7, /* the group's x, y, z, and its other fields */
       HIP_ITEM_IDS_SHIFT = 11,
       HIP_ITEM_IDS = 3 << 11,
       HIP_EXCEPTIONS = 0x7f << 24, /* of arithmetic */
};

enum { /* rsrc3, of processors with accumulation registers */
       HIP_SPLIT_GROUPS = 1 << 16,
};

enum { /* properties */
       HIP_DISPATCH_POINTER = 1 << 1,
       HIP_USER_FIELDS = 0x7f,
       HIP_WAVE32 = 1 << 10,
       HIP_DYNAMIC_STACK = 1 << 11,
};

/* in the order of their registers: first the fields that properties requests, bit by bit, then rsrc2's */
enum hip_field {
	HIP_PRIVATE_BUFFER,
	HIP_DISPATCH,
	HIP_QUEUE,
	HIP_KERNARG,
	HIP_DISPATCH_ID,
	HIP_FLAT_SCRATCH,
	HIP_PRIVATE_SIZE,
	HIP_GROUP_X,
	HIP_GROUP_Y,
	HIP_GROUP_Z,
	HIP_GROUP_INFO,
	HIP_SCRATCH_OFFSET,
	HIP_NFIELDS,
};

struct hip_start {
	int8_t at[HIP_NFIELDS]; /* first scalar register, -1: absent */
	uint8_t n[HIP_NFIELDS]; /* registers */
	uint32_t end;           /* the first register after them */
};

/* registers allocated to a thread (vector and accumulation) and to a wave (scalar registers that code can name;
 * meaningless if isa->wide_sgprs) */
struct hip_registers {
	uint32_t vector, accum, scalar;
};

struct hip_start hip_start_of(const struct hip_isa *isa, const struct hip_descriptor *d);
struct hip_registers hip_registers_of(const struct hip_isa *isa, const struct hip_descriptor *d);
/* Raises the allocation to at least `want`; it never lowers it. Returns false if a thread cannot have that many
 * registers. */
bool hip_registers_set(const struct hip_isa *isa, struct hip_descriptor *d, const struct hip_registers *want);
/* Adds to d all fields that `other` requests. */
void hip_descriptor_join(struct hip_descriptor *d, const struct hip_descriptor *other);
uint32_t hip_float_mode(const struct hip_descriptor *d); /* returns the low byte of the register MODE */

#endif
