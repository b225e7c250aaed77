/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that a place passes to its probes, in vector registers of the twin. Values that differ per lane take one
 * register for each 32 bits. Values that are equal in all lanes share one register, one lane each.
 * The probes are compiled with the registers HIP_FIRST_OPERAND and HIP_UNIFORM_REGISTER. They are rewritten to the twin's
 * registers once it is known which are free.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H

#include <stdint.h>

#include "core/target.h"
#include "backends/hip/amdgpu/isa/isa.h"

/* Values that differ per lane. Each number is one register, 32 bits of a value; a value of 64 bits takes two. */
enum hip_lane_operand {
	HIP_ADDR = 0,
	HIP_OFFSET = 2,
	HIP_VALUE = 4,
	HIP_OPERAND = 8,
	HIP_OLD = 10,
	HIP_TAKEN = 12,
	HIP_REGISTERS = 14,
	HIP_MARKED = 30,
	HIP_NLANE_OPERANDS = 32,
};

/* At calls and returns of functions, operand i is instead v<i>, which holds arguments or the result by the calling
 * convention. The operand HIP_UNKNOWN_OPERAND stands for an unknown value. */
#define HIP_UNKNOWN_OPERAND (HIP_NLANE_OPERANDS - 1)

/* values equal in all lanes: constants of the place, and lane masks of two words each */
enum hip_uniform_operand {
	HIP_PLACE_ID,
	HIP_LINE,
	HIP_BYTES,
	HIP_ACCESS,
	HIP_SPACE,
	HIP_COUNT,
	HIP_HINT,
	HIP_OP,
	HIP_BARRIER_ID,
	HIP_BARRIER_KIND,
	HIP_NCONSTANTS,
	HIP_LANES = HIP_NCONSTANTS,
	HIP_ACTIVE = HIP_LANES + 2,
	HIP_NUNIFORM = HIP_ACTIVE + 2,
};

#define HIP_FIRST_OPERAND 224          /* first register of per-lane operands in a probe as LLVM compiled it */
#define HIP_UNIFORM_REGISTER 223

/* the operand that provides a field of the context */
struct hip_operand {
	const char *field;
	bool is_uniform; /* equal in all lanes: enum hip_uniform_operand; it is a lane mask from
				    * HIP_NCONSTANTS on */
	uint32_t at;     /* enum hip_uniform_operand, or the first hip_lane_operand, with two registers for
				    * each element of the field */
};
const struct hip_operand *hip_operand_of(const char *field);

/* Finds the operands that a probe reads, as bits, and how many other vector registers it uses. Returns -EINVAL if no
 * registers are left for the operands. */
int hip_operands_read(const struct hip_isa *isa, bool wave32, const uint8_t *text, size_t size, uint32_t *lane_operands,
		      uint32_t *uniform_operands, uint32_t *vectors);
/* Rewrites the probe to read per-lane operand i from vector register lane_reg[i], and uniform operands from the lanes
 * of vector register `uniform_reg`. */
void hip_operands_place(const struct hip_isa *isa, bool wave32, uint8_t *text, size_t size,
			const uint32_t lane_reg[HIP_NLANE_OPERANDS], uint32_t uniform_reg);

#endif
