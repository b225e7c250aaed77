/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_INSN_PROBE_H
#define GPUBPF_BACKENDS_CUDA_PTX_INSN_PROBE_H

#include "backends/cuda/ptx/analysis/access.h"
#include "edit.h"

/* Adds the probes of the n places of one instruction, before and after the instruction. */
void ptx_edit_insn_probes(struct ptx_splice *in, uint32_t function, const struct ptx_site *placed, uint32_t n);
/* Adds, after the instruction `node`, the probes of earlier instructions that sink_probes.c moved there. */
void ptx_edit_sunk_probes(struct ptx_splice *in, uint32_t function, uint32_t node);
/* Returns true if every lane that reaches the instruction runs the place's probe. */
bool ptx_all_lanes_run(struct ptx_splice *in, const struct ptx_site *at);
/* sink_probes.c: chooses, for each place of the function, the instruction after which the place's probe runs. */
void ptx_sink_probes(struct ptx_splice *in);
/*
 * Returns true if the instruction only computes a register from operands of the same lane. Not all such instructions
 * are known here.
 */
bool ptx_is_register_op(const struct ptx_module *m, const struct ptx_node *insn);
/* active_mask.c: chooses the places of the function that share one read of the active mask. */
void ptx_share_active_mask(struct ptx_splice *in);

#endif
