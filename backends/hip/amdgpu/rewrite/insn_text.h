/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a place's stub at a single instruction, for insn_probe.c. Each function emits instructions. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_INSN_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_INSN_TEXT_H

#include "stub_text.h"

/* saved_state.c */
/* Saves s0 and s1 of the kernel, which a place's stub uses. */
void hip_begin_stub(struct hip_text *t);
/* Restores s0 and s1: hip_end_stub() where the stub ends, hip_restore_scalars() before it reads the kernel's
 * registers. */
void hip_end_stub(struct hip_text *t);
void hip_restore_scalars(struct hip_text *t);
/* Saves EXEC, and restores it; hip_restore_mask() reads a saved one into s0 and s1. */
void hip_save_exec(struct hip_text *t, enum hip_saved_lane what);
void hip_restore_exec(struct hip_text *t, enum hip_saved_lane what);
void hip_restore_mask(struct hip_text *t, enum hip_saved_lane what);

/* insn_operands.c */
/* Computes an access's operands while its address and value registers still hold them. A store does not change them, so
 * it may run after the store too. */
void hip_emit_operands_before(struct hip_text *t, const struct hip_patch *patch, uint32_t access);
/* Sets the operands of an access after the instruction, from those set before it. */
void hip_emit_operands_after(struct hip_text *t, const struct hip_patch *patch, uint32_t access);
/* Sets the operand "mem.offset", the offset in the space, from the address. */
void hip_emit_offset(struct hip_text *t, uint32_t space);
/* Sets the operands of a branch. The lanes of EXEC that are in the mask s[0:1] take the branch; if `others` is set, the
 * lanes that are not in it do. */
void hip_emit_branch_operands(struct hip_text *t, bool others);
/* Copies operands from the kernel's registers. s0 and s1 are restored first, since the stub may have changed them. */
void hip_emit_register_operands(struct hip_text *t, enum hip_lane_operand first, const struct hip_reg *registers,
				uint32_t n);
/* Removes the lanes from EXEC whose address is not in that space. It clobbers s1. */
void hip_emit_space_filter(struct hip_text *t, uint32_t space);
/* Removes the lanes from EXEC whose address lies in memory that the runtime allocated for the launch. This memory has
 * `bytes` bytes from the address that the initial registers of `field` hold. */
void hip_emit_outside_filter(struct hip_text *t, enum hip_field field, uint32_t bytes);
/* Reduces EXEC to its first lane. */
void hip_emit_first_lane(struct hip_text *t);

#endif
