/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies instructions as barriers or branches, by control.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H
#define GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

enum ptx_control_kind {
	PTX_FALLS_THROUGH, /* neither waits nor branches */
	PTX_WAITS,
	PTX_BRANCHES, /* a predicate decides which lanes branch */
	PTX_JUMPS,    /* by a table */
	PTX_UNKNOWN,  /* unknown: it may be any of these */
};

struct ptx_control {
	enum ptx_control_kind kind;
	enum gpubpf_barrier_kind barrier; /* WAITS */
	uint32_t operand; /* token of the barrier's id (WAITS) or the table index (JUMPS), or PTX_NONE */
};

struct ptx_control ptx_control(const struct ptx_module *m, uint32_t node);
/* Returns true if the instruction is a place of this kind. The kind must not be one of memory accesses. */
bool ptx_control_is(const struct ptx_control *control, enum gpubpf_site kind);
/* Returns the node before which a probe for the place at `node` must be inserted. No branch may come between the stores
 * of a call's arguments, the call, and the loads of its results (PTX ISA 7.1.1). */
uint32_t ptx_call_begin(const struct ptx_module *m, uint32_t node);

#endif
