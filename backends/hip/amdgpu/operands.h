/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a place gives the probes that stand there, in vector registers of the twin's: of each lane, 32 bits by 32 bits; and in
 * one register, a lane each, what is the same for all of them. The probes are compiled with the registers HIP_GIVEN and
 * HIP_SAME_REGISTER for these, and get the twin's in their places when it is known which are free.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_OPERANDS_H

#include <stdint.h>

#include "core/target.h"
#include "isa.h"

/* 32 bits of what each lane is given */
enum hip_given {
	HIP_ADDR = 0, HIP_OFFSET = 2, HIP_VALUE = 4, HIP_OPERAND = 8, HIP_OLD = 10, HIP_TAKEN = 12,
	HIP_REGISTERS = 14, HIP_MARKED = 30, HIP_NGIVEN = 32,
};

/* At calls of functions these are v0 and so on instead, where the calling convention has arguments, and at their returns the
 * result; but for the last, which stands for what is not known. */
#define HIP_NOT_KNOWN (HIP_NGIVEN - 1)

/* what all lanes are given: constants of the place, and masks of lanes, two each */
enum hip_same {
	HIP_PLACE_ID, HIP_LINE, HIP_BYTES, HIP_ACCESS, HIP_SPACE, HIP_COUNT, HIP_HINT, HIP_OP, HIP_BARRIER_ID, HIP_BARRIER_KIND,
	HIP_NCONSTANTS, HIP_LANES = HIP_NCONSTANTS, HIP_ACTIVE = HIP_LANES + 2, HIP_NSAME = HIP_ACTIVE + 2,
};

#define HIP_GIVEN 224          /* the registers of a probe as LLVM made it */
#define HIP_SAME_REGISTER 223

/* the operand behind a field of the context; false: the field is none */
struct hip_operand {
	const char *field;
	bool same;                 /* a mask of lanes: from HIP_NCONSTANTS on */
	uint32_t at;               /* enum hip_same or hip_given; two registers for each element */
};
const struct hip_operand *hip_operand_of(const char *field);

/* Which a probe reads, as bits, and how many other vector registers it uses. -EINVAL: it has none left for them. */
int hip_operands_read(const struct hip_isa *isa, bool wave32, const uint8_t *text, size_t size, uint32_t *given, uint32_t *same,
		      uint32_t *vectors);
/* Let it read them from these registers: given[i] and `same`. */
void hip_operands_place(const struct hip_isa *isa, bool wave32, uint8_t *text, size_t size, const uint32_t given[HIP_NGIVEN],
			uint32_t same);

#endif
