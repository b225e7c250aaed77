/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers and branches among instructions, by control.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H
#define GPUBPF_BACKENDS_CUDA_PTX_CONTROL_H

#include "core/places.h"
#include "ptx.h"

enum ptx_control_kind {
	PTX_GOES_ON,               /* neither */
	PTX_WAITS,
	PTX_BRANCHES,              /* lanes whose predicate says so leave the others */
	PTX_JUMPS,                 /* by a table */
	PTX_NOT_KNOWN,             /* it may be any of these */
};

struct ptx_control {
	enum ptx_control_kind kind;
	enum gpubpf_barrier_kind barrier; /* WAITS */
	uint32_t operand;          /* token: WAITS, its id; JUMPS, the index; PTX_NONE: there is none */
};

struct ptx_control ptx_control(const struct ptx_module *m, uint32_t node);
/* Is that one of the places of this kind, which is none of accesses? */
bool ptx_control_is(const struct ptx_control *control, enum gpubpf_site kind);
/* The node before which code for a place before that one may stand: no branch may between the instructions that store a
 * call's arguments, the call, and those that load what it returns (PTX ISA 7.1.1). */
uint32_t ptx_call_begin(const struct ptx_module *m, uint32_t node);

#endif
