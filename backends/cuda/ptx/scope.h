/* SPDX-License-Identifier: Apache-2.0 */
/* What a name means in a function: blocks have registers, variables and labels of their own (PTX ISA 4.4, 7.1). */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SCOPE_H

#include "ptx.h"

/* The name that a declaration has behind that of `token`: ".shared .u32 a[4], b;" has two (PTX ISA 5.4.1).
 * PTX_NONE: no more. */
uint32_t ptx_next_name(const struct ptx_module *module, uint32_t node, uint32_t token);
/* Of a declaration that stands for several names, how many: ".reg .b32 r<8>;" declares r0 to r7 (PTX ISA 5.4.6); else
 * 0. And does the name declared at one token mean that of the other? */
uint32_t ptx_name_range(const struct ptx_module *module, uint32_t token);
bool ptx_name_means(const struct ptx_module *module, uint32_t declared, uint32_t token);
/* The label, parameter or variable of a function or block around that node that the token's name means there;
 * PTX_NONE: none. */
uint32_t ptx_declaration(const struct ptx_module *module, uint32_t node, uint32_t token);
/* Once, when all is parsed: what finding labels by their names needs. 0 or -ENOMEM. */
int ptx_index_labels(struct ptx_module *module);
/* The label that a branch at that node means; PTX_NONE: there is none. */
uint32_t ptx_find_label(const struct ptx_module *module, uint32_t node, uint32_t token);
/* cycle.c: may control come to some statement of that block (function) again? brx.idx goes nowhere here. Or -ENOMEM. */
int ptx_has_cycle(const struct ptx_module *module, uint32_t block);
/* head.c: the branch, if a register says so, to the end of that block, before which nothing stands but what any lane may do
 * at any time, and nobody sees. PTX_NONE: it begins otherwise. */
uint32_t ptx_head_branch(const struct ptx_module *module, uint32_t block);
/* Are behind that branch, up to the end, but a few instructions in a row, for which predicates may stand in its place? */
bool ptx_may_guard(const struct ptx_module *module, uint32_t branch);
/* Is it one of these that lanes which would have gone to the end must not carry out? */
bool ptx_needs_guard(const struct ptx_module *module, const struct ptx_node *insn);

#endif
