/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes jumps to targets that are too far for a branch. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FAR_JUMP_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FAR_JUMP_H

#include <stdbool.h>
#include <stdint.h>

/* A far jump, as compilers generate it: s_getpc_b64, s_add_u32 and s_addc_u32 with literals, s_setpc_b64. */
struct hip_far_jump {
	uint32_t matched;   /* number of consecutive instructions of the sequence that have matched so far */
	uint32_t reg, from; /* first register of the pair with the address; offset of s_getpc_b64 in the code */
	uint64_t to;        /* offset of the jump's target in the code */
};

/* Matches the next instruction, which has `size` bytes at `insn` and is at offset `off` of the code. Returns true if
 * the instruction completes a far jump. Wait instructions may be between the instructions of the sequence. */
bool hip_far_jump_match(struct hip_far_jump *f, const char *name, const char *operands, const uint8_t *insn,
			uint32_t off, uint32_t size);

#endif
