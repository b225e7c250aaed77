/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a function. Each block has its own registers, variables and labels (PTX ISA 4.4, 7.1). */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H

#include "ptx.h"

/* Returns the declaration's name after the one at `token`: ".shared .u32 a[4], b;" declares two (PTX ISA 5.4.1).
 * PTX_NONE: there are no more. */
uint32_t ptx_next_name(const struct ptx_module *module, uint32_t node, uint32_t token);
/* Returns how many names a declared name stands for: ".reg .b32 r<8>;" declares r0 to r7 (PTX ISA 5.4.6). Returns 0 for
 * a single name. ptx_name_covers() returns whether the name declared at one token covers the name at the other. */
uint32_t ptx_name_range(const struct ptx_module *module, uint32_t token);
bool ptx_name_covers(const struct ptx_module *module, uint32_t declared, uint32_t token);
/* Returns the label, parameter or variable that the token's name denotes at that node. It searches the function and the
 * blocks that enclose the node. PTX_NONE: there is none. */
uint32_t ptx_declaration(const struct ptx_module *module, uint32_t node, uint32_t token);
/* Builds the index of labels. The parser calls it once, after parsing. Returns 0 or -ENOMEM. */
int ptx_index_labels(struct ptx_module *module);
/* Returns the label to which a branch at that node goes, or PTX_NONE. */
uint32_t ptx_find_label(const struct ptx_module *module, uint32_t node, uint32_t token);
/* backends/cuda/ptx/analysis/cycle.c: returns 1 if the block (a function's body) has a cycle in its control flow, else 0, or -ENOMEM. Edges of
 * brx.idx are not followed. */
int ptx_has_cycle(const struct ptx_module *module, uint32_t block);
/* backends/cuda/ptx/passes/guard_probes.c: returns the conditional branch to the block's end that begins the block.
 * Only instructions without side effects may precede it, which any lane may execute at any time. PTX_NONE: there is no
 * such branch. */
uint32_t ptx_head_branch(const struct ptx_module *module, uint32_t block);
/* Returns true if predicates can replace the branch of ptx_head_branch(): only a few straight-line instructions lie
 * between it and the block's end. */
bool ptx_can_guard(const struct ptx_module *module, uint32_t branch);
/* Returns true if the instruction accesses memory, so that it needs the predicate after the branch was removed. */
bool ptx_needs_guard(const struct ptx_module *module, const struct ptx_node *insn);

#endif
