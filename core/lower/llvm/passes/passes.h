/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over the IR of a job. Where a pass resolves calls that the lowering marks, the function that marks them stands
 * with it.
 */
#ifndef GPUBPF_LOWER_LLVM_PASSES_H
#define GPUBPF_LOWER_LLVM_PASSES_H

#include "core/lower/llvm/ir/ir.h"

/* place_const.c */
/*
 * Returns an i32: is v (i64) computed only from constants of the place's text? 0: no. NULL: the place has no registers.
 */
LLVMValueRef low_is_place_const(struct low_frame *f, LLVMValueRef v);
/* Marks the call: its result is a constant of the place's text if %gpubpf_told is 1. */
void low_mark_place_const(struct low *l, LLVMValueRef given);
/* Resolves the calls of low_is_place_const(), after the passes. Returns true if there were any. */
bool low_resolve_place_consts(struct low *l);

/* nvptx_activemask_cse.c */
/* Marks the call: its result is uniform over the lanes that execute it. */
void low_mark_uniform(struct low *l, LLVMValueRef given);
/* PTX, after the passes: removes reads of the active mask where the lanes have not diverged since the last read. */
void low_reuse_active_masks(struct low *l);

/*
 * branch_mask.c: returns the mask of lanes that take a branch (i64), among the active ones. A test for divergence of it
 * is answered in a cheaper way.
 */
LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active);
/* Resolves the calls of low_branch_taken_mask(), after the passes. Returns true if there were any. */
bool low_resolve_taken_masks(struct low *l);

/* combine_adds.c */
/* Records an add of v at the address, to be combined with other adds to adjacent words. false: not possible. */
bool low_defer_add(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* Emits the recorded adds, after the passes. */
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
