/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the passes over the IR of a job. Some passes resolve calls that the lowering emits as placeholders. The file
 * of such a pass also has the function that emits the placeholder.
 */
#ifndef GPUBPF_LOWER_LLVM_PASSES_H
#define GPUBPF_LOWER_LLVM_PASSES_H

#include "core/lower/llvm/ir/ir.h"

/* place_const.c */
/*
 * Returns an i32 that is 1 if v (i64) is computed only from constants in the place's text, else 0. Returns NULL if the
 * place has no registers.
 */
LLVMValueRef low_is_place_const(struct low_frame *f, LLVMValueRef v);
/* Marks a call whose result is a constant in the place's text if %gpubpf_told is 1. */
void low_mark_place_const(struct low *l, LLVMValueRef given);
/* Runs after other passes: replaces the calls that low_is_place_const() emitted. Returns true if there were any. */
bool low_resolve_place_consts(struct low *l);

/* nvptx_activemask_cse.c */
/* Marks a call whose result is the same in all lanes that execute it. */
void low_mark_uniform(struct low *l, LLVMValueRef given);
/*
 * Runs after other passes, for PTX targets. Replaces a read of the active mask by an earlier read if the lanes have not
 * diverged in between.
 */
void low_reuse_active_masks(struct low *l);

/*
 * branch_mask.c: returns the mask (i64) of the active lanes that take a branch. If a program only tests this mask for
 * divergence, a later pass replaces the test by a cheaper one.
 */
LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active);
/* Runs after other passes: replaces the calls that low_branch_taken_mask() emitted. Returns true if there were any. */
bool low_resolve_taken_masks(struct low *l);

/* combine_adds.c */
/*
 * Emits a call that stands for an add of v at the address. low_combine_adds() later combines it with adds to adjacent
 * words. Returns false and emits nothing if this is not possible.
 */
bool low_defer_add(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* Runs after other passes: replaces the calls that low_defer_add() emitted by adds. Returns 0 or -errno. */
int low_combine_adds(struct low *l);

/* opt.c */
int low_optimise(struct low *l, LLVMTargetMachineRef machine);

/* array_to_registers.c */
/*
 * Promotes arrays with variable indices to registers, where each access selects among all words. Returns 0 or -ENOMEM.
 */
int low_promote_arrays(struct low *l);

/* legalize_overflow.c */
/*
 * Expands llvm.*.with.overflow into ordinary instructions if LLVM's backend or the vendor's compiler handles them
 * incorrectly.
 */
void low_expand_overflows(struct low *l);

/* legalize_int_width.c */
/* Legalizes integers to widths of 8, 16, 32 and 64 bits. Returns 0, -ENOMEM, or -EINVAL and sets a diagnostic. */
int low_legalize_widths(struct low *l);

#endif
