/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for insn_probe.c. Each one emits instructions into the stub of a place. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_INSN_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_INSN_TEXT_H

#include "stub_text.h"

/* saved_state.c */
/* Saves the kernel's s0 and s1, which the stub overwrites. */
void hip_begin_stub(struct hip_text *t);
/* Both restore the kernel's s0 and s1. At the end of a stub, use hip_end_stub(). Before code that reads the kernel's
 * registers, use hip_restore_scalars(). */
void hip_end_stub(struct hip_text *t);
void hip_restore_scalars(struct hip_text *t);
/* Save or restore EXEC in the lanes `what` of draft->saved_reg. hip_restore_mask() reads a saved EXEC into s0 and s1
 * instead. */
void hip_save_exec(struct hip_text *t, enum hip_saved_lane what);
void hip_restore_exec(struct hip_text *t, enum hip_saved_lane what);
void hip_restore_mask(struct hip_text *t, enum hip_saved_lane what);

/* insn_operands.c */
/* Computes the operands of an access: address and values. It must run before a load, which may overwrite these
 * registers. It may run before or after a store. */
void hip_emit_operands_before(struct hip_text *t, const struct hip_patch *patch, uint32_t access);
/* Computes the operands of an access after the instruction: the old value of an atomic, and the address of access 1
 * from the address of access 0. */
void hip_emit_operands_after(struct hip_text *t, const struct hip_patch *patch, uint32_t access);
/* Computes the operand "mem.offset" (offset in the memory space) from the address operand. */
void hip_emit_offset(struct hip_text *t, uint32_t space);
/* Computes the operands of a branch. The mask in s[0:1] has the lanes that take the branch, or the lanes that do not if
 * `others` is set. Only lanes of EXEC count. */
void hip_emit_branch_operands(struct hip_text *t, bool others);
/* Copies n registers of the kernel into operands from `first` on. First it restores s0 and s1, which the stub may have
 * changed. */
void hip_emit_register_operands(struct hip_text *t, enum hip_lane_operand first, const struct hip_reg *registers,
				uint32_t n);
/* Removes from EXEC the lanes whose address is not in the memory space. Clobbers s0 and s1. */
void hip_emit_space_filter(struct hip_text *t, uint32_t space);
/* Removes from EXEC the lanes whose address is in memory that the runtime allocated for the launch. `field` names the
 * initial registers with the address of this memory, which has `bytes` bytes. */
void hip_emit_outside_filter(struct hip_text *t, enum hip_field field, uint32_t bytes);
/* Removes from EXEC all lanes except the first. */
void hip_emit_first_lane(struct hip_text *t);

#endif
