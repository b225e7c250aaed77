/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_AROUND_H
#define GPUBPF_BACKENDS_CUDA_PTX_AROUND_H

#include "backends/cuda/ptx/analysis/access.h"
#include "backends/cuda/ptx/ir/edit.h"

/* Adds the probes of one instruction's places before and after it. */
void ptx_edit_around(struct ptx_splice *in, uint32_t function, const struct ptx_placed *placed, uint32_t n);
/* Adds, after an instruction, the probes of earlier instructions that were sunk to it. */
void ptx_edit_behind(struct ptx_splice *in, uint32_t function, uint32_t node);
/* Returns true if every lane that reaches the instruction runs the place's probe. */
bool ptx_all_take_part(struct ptx_splice *in, const struct ptx_placed *at);
/* sink_probes.c: chooses for each of the function's places the instruction after which its probe runs. */
void ptx_find_late(struct ptx_splice *in);
/* Returns true if the instruction only computes a register, separately in each lane. Not all such instructions are
 * listed. */
bool ptx_gives_register(const struct ptx_module *m, const struct ptx_node *insn);
/* backends/cuda/ptx/passes/active_mask.c: finds the places of the function that the same lanes pass. */
void ptx_find_came(struct ptx_splice *in);

#endif
