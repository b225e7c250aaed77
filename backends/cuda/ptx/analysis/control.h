/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies PTX instructions as barriers or branches, by the table control.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H
#define GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

enum ptx_control_kind {
	PTX_FALLS_THROUGH, /* neither waits nor branches */
	PTX_WAITS,
	PTX_BRANCHES, /* a predicate decides which lanes branch */
	PTX_JUMPS,    /* branches to a label of a table */
	PTX_UNKNOWN,  /* no table row matches, so the instruction may be of any kind above */
};

struct ptx_control {
	enum ptx_control_kind kind;
	enum gpubpf_barrier_kind barrier; /* for PTX_WAITS: kind of barrier */
	uint32_t operand; /* token of the barrier's id (PTX_WAITS) or of the table index (PTX_JUMPS), or PTX_NONE */
};

struct ptx_control ptx_control(const struct ptx_module *m, uint32_t node);
/*
 * Returns true if the instruction is a place of this kind. The kind must be one of barriers or branches, not of memory
 * accesses.
 */
bool ptx_control_is(const struct ptx_control *control, enum gpubpf_site kind);
/* Returns the node before which a probe for the place at `node` must be inserted. No branch may come between the stores
 * of a call's arguments, the call, and the loads of its results (PTX ISA 7.1.1). */
uint32_t ptx_call_begin(const struct ptx_module *m, uint32_t node);

#endif
