/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the sass target: probes as LLVM makes them, kernels by themselves that an assembler of NVIDIA's reads. */
#ifndef GPUBPF_SASS_EMIT_H
#define GPUBPF_SASS_EMIT_H

#include "backends/cuda/ptx/emit.h"
#include "isa.h"

struct sass_emit {
	struct gpubpf_llvm_target target;  /* first */
	const struct sass_arch *arch;
	uint32_t site;                     /* whose environment is being made */
};

/* struct gpubpf_llvm_target's inline_env */
void sass_inline_env(struct low *l, uint32_t site, LLVMValueRef env);
/* its optimised: in large probes what is the warp's own becomes each lane's own */
void sass_own_lanes(struct low *l);

#endif
