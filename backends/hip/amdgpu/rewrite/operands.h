/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands: the values that a stub passes to a probe in vector registers of the twin. A value that differs per lane
 * takes one register for each 32 bits. The values that are equal in all lanes share one register: each takes one or two
 * of its lanes.
 *
 * LLVM compiles a probe with the registers HIP_FIRST_OPERAND and up, and HIP_UNIFORM_REGISTER. When the twin's
 * registers are allocated, the probe's code is patched to use them.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H

#include <stdint.h>

#include "core/target.h"
#include "backends/hip/amdgpu/isa/isa.h"

/* Operands that differ per lane. Each number stands for one register, so a 64-bit value has two numbers. */
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

/* At function calls and returns the numbers have another meaning. Operand i is v<i>, which holds an argument or the
 * result by the calling convention. HIP_UNKNOWN_OPERAND stands for an argument or result whose location is unknown. */
#define HIP_UNKNOWN_OPERAND (HIP_NLANE_OPERANDS - 1)

/* Operands that are equal in all lanes: constants of the place, then lane masks of two words each. The number is the
 * lane of the register that holds the operand. */
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

#define HIP_FIRST_OPERAND 224          /* first register of the per-lane operands, as LLVM compiles the probe */
#define HIP_UNIFORM_REGISTER 223

/* The operand that holds a field of the program's context. */
struct hip_operand {
	const char *field;
	bool is_uniform; /* true: `at` is an enum hip_uniform_operand. Numbers from HIP_NCONSTANTS on are lane masks. */
	/*
	 * number of the operand. Element i of a field with enum hip_lane_operand is in the two registers `at` + 2 i and
	 * `at` + 2 i + 1.
	 */
	uint32_t at;
};
const struct hip_operand *hip_operand_of(const char *field);

/* Finds the operands that a probe reads, as sets of bits. Sets *vectors to the number of other vector registers that it
 * uses. Returns 0, or -EINVAL if these overlap the registers of operands. */
int hip_operands_read(const struct hip_isa *isa, bool wave32, const uint8_t *text, size_t size, uint32_t *lane_operands,
		      uint32_t *uniform_operands, uint32_t *vectors);
/* Patches a probe's code to read its operands from other vector registers. Per-lane operand i is in lane_reg[i]. The
 * uniform operands are in the lanes of `uniform_reg`. */
void hip_operands_place(const struct hip_isa *isa, bool wave32, uint8_t *text, size_t size,
			const uint32_t lane_reg[HIP_NLANE_OPERANDS], uint32_t uniform_reg);

#endif
