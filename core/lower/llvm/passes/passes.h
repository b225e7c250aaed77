/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over the IR of a job. If a pass resolves calls that the lowering emits as marks, the pass's file also has the
 * function that emits the mark.
 */
#ifndef GPUBPF_LOWER_LLVM_PASSES_H
#define GPUBPF_LOWER_LLVM_PASSES_H

#include "core/lower/llvm/ir/ir.h"

/* place_const.c */
/*
 * Returns an i32: 1 if v (i64) is computed only from constants in the place's text, 0 if not. NULL: the place has no
 * registers.
 */
LLVMValueRef low_is_place_const(struct low_frame *f, LLVMValueRef v);
/* Marks a call: its result is a constant in the place's text if %gpubpf_told is 1. */
void low_mark_place_const(struct low *l, LLVMValueRef given);
/* Replaces the calls that low_is_place_const() left, after the passes. Returns true if there were any. */
bool low_resolve_place_consts(struct low *l);

/* nvptx_activemask_cse.c */
/* Marks a call: its result is uniform over the lanes that execute it. */
void low_mark_uniform(struct low *l, LLVMValueRef given);
/*
 * For PTX, after the passes: replaces reads of the active mask by an earlier read if the lanes have not diverged since.
 */
void low_reuse_active_masks(struct low *l);

/*
 * branch_mask.c: returns the mask (i64) of the active lanes that take a branch. A later pass answers a test of it for
 * divergence without computing the mask.
 */
LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active);
/* Replaces the calls that low_branch_taken_mask() left, after the passes. Returns true if there were any. */
bool low_resolve_taken_masks(struct low *l);

/* combine_adds.c */
/*
 * Leaves a call that adds v at the address, for low_combine_adds() to combine with others to adjacent words. false: not
 * possible, and nothing is emitted.
 */
bool low_defer_add(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* Emits the adds that low_defer_add() left, after the passes. */
int low_combine_adds(struct low *l);

/* opt.c */
int low_optimise(struct low *l, LLVMTargetMachineRef machine);

/* array_to_registers.c */
/* Turns arrays with variable indices into words selected by comparison. 0; -ENOMEM. */
int low_promote_arrays(struct low *l);

/* legalize_overflow.c */
/* Expands llvm.*.with.overflow into plain instructions where LLVM lowers it incorrectly. */
void low_expand_overflows(struct low *l);

/* legalize_int_width.c */
/* Legalizes integers to 8, 16, 32 and 64 bits. 0; -EINVAL and a diagnostic; -ENOMEM. */
int low_legalize_widths(struct low *l);

#endif
