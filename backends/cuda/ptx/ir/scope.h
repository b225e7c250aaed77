/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a name in a function denotes. Each { } block of a function has its own registers, variables and labels
 * (PTX ISA 4.4, 7.1). */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H

#include "ptx.h"

/*
 * Returns the token of the name that follows the name at `token` in a declaration. For example, ".shared .u32 a[4], b;"
 * declares two names (PTX ISA 5.4.1). Returns PTX_NONE after the last name.
 */
uint32_t ptx_next_name(const struct ptx_module *module, uint32_t node, uint32_t token);
/*
 * Returns the number of names in a range. For ".reg .b32 r<8>;", which declares r0 to r7, this is 8 (PTX ISA 5.4.6).
 * Returns 0 for a single name. The function ptx_name_covers() returns true if the name at `token` is the one at
 * `declared` or in its range.
 */
uint32_t ptx_name_range(const struct ptx_module *module, uint32_t token);
bool ptx_name_covers(const struct ptx_module *module, uint32_t declared, uint32_t token);
/*
 * Returns the declaration of the label, parameter or variable that `token` names at that node. Searches the blocks that
 * enclose the node, then the function. Returns PTX_NONE if there is no declaration.
 */
uint32_t ptx_declaration(const struct ptx_module *module, uint32_t node, uint32_t token);
/* Builds the hash table of labels. The parser calls it once, at its end. Returns 0 or -ENOMEM. */
int ptx_index_labels(struct ptx_module *module);
/*
 * Returns the label that is the target of the branch at `node`; `token` is the target's name. Returns PTX_NONE if there
 * is no such label.
 */
uint32_t ptx_find_label(const struct ptx_module *module, uint32_t node, uint32_t token);
/*
 * Returns 1 if the control flow of a function's body has a cycle, 0 if not, or -ENOMEM. Edges of brx.idx are not
 * followed. (backends/cuda/ptx/analysis/cycle.c)
 */
int ptx_has_cycle(const struct ptx_module *module, uint32_t block);
/*
 * Returns the conditional branch near the block's beginning that leads to the block's end, or PTX_NONE. Before the
 * branch there are only instructions without side effects, which any lane may execute at any time.
 * (backends/cuda/ptx/passes/guard_probes.c)
 */
uint32_t ptx_head_branch(const struct ptx_module *module, uint32_t block);
/* Returns true if predicates can replace the branch of ptx_head_branch(): only a few straight-line instructions lie
 * between it and the block's end. */
bool ptx_can_guard(const struct ptx_module *module, uint32_t branch);
/* Returns true if the instruction accesses memory, so that it needs the predicate after the branch was removed. */
bool ptx_needs_guard(const struct ptx_module *module, const struct ptx_node *insn);

#endif
