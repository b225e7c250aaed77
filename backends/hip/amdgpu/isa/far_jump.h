/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps beyond the range of branches. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FAR_JUMP_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FAR_JUMP_H

#include <stdbool.h>
#include <stdint.h>

/* A jump beyond the range of branches, as compilers generate it: s_getpc_b64, s_add_u32 and s_addc_u32 of literals,
 * s_setpc_b64. */
struct hip_far_jump {
	uint32_t matched;   /* number of these instructions matched so far, in a row */
	uint32_t reg, from; /* first of the two registers of the address; offset of the first instruction */
	uint64_t to;        /* offset of the target */
};

/* Matches the next instruction, of `size` bytes at `insn`, which is at offset `off`. Returns true if it is the last one
 * of a far jump. Instructions that only wait may be between those of the jump. */
bool hip_far_jump_match(struct hip_far_jump *f, const char *name, const char *operands, const uint8_t *insn,
			uint32_t off, uint32_t size);

#endif
