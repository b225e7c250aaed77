/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel descriptors (AMDGPU Usage, "Kernel Descriptor"), and the registers with which a wave begins ("Initial Kernel
 * Execution State"). A descriptor requests fields, and the initial registers hold them in a fixed order.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_DESCRIPTOR_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hip/amdgpu/isa/isa.h"

#define HIP_MAX_VECTOR 256    /* number of vector (or accumulation) registers that an instruction can name */
#define HIP_MAX_USER_SGPRS 16 /* limit of user registers at the start of a wave; the work-group's fields follow them */
#define HIP_MAX_GROUP 65536   /* bytes of group memory that every processor has */

struct hip_descriptor {
	uint32_t group_size, private_size, kernarg_size, reserved0;
	int64_t entry; /* distance from the descriptor to the kernel's first instruction, in bytes */
	uint32_t reserved1[5];
	uint32_t rsrc3, rsrc1, rsrc2;
	uint16_t properties, preload;
	uint32_t reserved2;
};

enum { /* rsrc2 */
       HIP_PRIVATE_SEGMENT = 1 << 0,
       HIP_USER_SGPRS_SHIFT = 1,
       HIP_USER_SGPRS = 0x1f << 1,
       HIP_GROUP_IDS = 0xf << 7, /* work-group ids x, y, z, and work-group info */
       HIP_ITEM_IDS_SHIFT = 11,
       HIP_ITEM_IDS = 3 << 11,
       HIP_EXCEPTIONS = 0x7f << 24, /* of arithmetic */
};

enum { /* rsrc3, on processors with accumulation registers */
       HIP_SPLIT_GROUPS = 1 << 16,
};

enum { /* properties */
       HIP_DISPATCH_POINTER = 1 << 1,
       HIP_USER_FIELDS = 0x7f,
       HIP_WAVE32 = 1 << 10,
       HIP_DYNAMIC_STACK = 1 << 11,
};

/* Fields in the order of their registers. Bits of `properties` request the fields before HIP_GROUP_X, and bits of rsrc2
 * the others. */
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
	int8_t at[HIP_NFIELDS]; /* first scalar register of each field; -1: the field is absent */
	uint8_t n[HIP_NFIELDS]; /* registers */
	uint32_t end;           /* first scalar register after all fields */
};

/* Numbers of allocated registers. `vector` and `accum` are per lane. `scalar` is per wave and counts the numbered
 * registers; it has no meaning if isa->wide_sgprs. */
struct hip_registers {
	uint32_t vector, accum, scalar;
};

struct hip_start hip_start_of(const struct hip_isa *isa, const struct hip_descriptor *d);
struct hip_registers hip_registers_of(const struct hip_isa *isa, const struct hip_descriptor *d);
/* Raises the descriptor's register counts to at least `want`, and never lowers them. Returns false if the processor
 * does not have enough registers. */
bool hip_registers_set(const struct hip_isa *isa, struct hip_descriptor *d, const struct hip_registers *want);
/* Adds to *d the initial fields, the private memory and the dynamic stack that `other` requests. */
void hip_descriptor_join(struct hip_descriptor *d, const struct hip_descriptor *other);
/* returns the initial value of bits 0 to 7 of the MODE register */
uint32_t hip_float_mode(const struct hip_descriptor *d);

#endif
