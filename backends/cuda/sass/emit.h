/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the sass target: generates probes with LLVM. Each probe is a separate kernel, which NVIDIA's assembler
 * compiles. */
#ifndef GPUBPF_SASS_EMIT_H
#define GPUBPF_SASS_EMIT_H

#include "backends/cuda/ptx/emit.h"
#include "backends/cuda/sass/isa/isa.h"

struct sass_emit {
	struct gpubpf_llvm_target target; /* must be first */
	const struct sass_arch *arch;
	uint32_t site; /* index of the site whose environment sass_inline_env() currently builds */
};

/* Implements `inline_env` of struct gpubpf_llvm_target. */
void sass_inline_env(struct low *l, uint32_t site, LLVMValueRef env);
/* Implements `optimised` of struct gpubpf_llvm_target: in large probes, turns uniform values into per-lane values. */
void sass_make_per_lane(struct low *l);

#endif
