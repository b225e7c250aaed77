/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the amdgpu target: compiles probes with LLVM, for twins (env.c, target.c). */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_EMIT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_EMIT_H

#include <llvm-c/Core.h>

#include "core/lower/llvm/llvm.h"
#include "backends/hip/amdgpu/isa/isa.h"

struct gpubpf_function;
struct low;

/* The LLVM target, and the properties of a GPU kernel that the lowering of its probes needs. */
struct hip_emit {
	struct gpubpf_llvm_target target; /* must be first */
	const uint32_t *offsets;          /* [parameter] offset of the parameter in the kernel's arguments, in bytes */
	/* offsets in the kernel's arguments of the words that the agent sets at each launch */
	uint32_t launch, pid;
	/* [site] debug information of the function that contains the site; NULL: unknown */
	const struct gpubpf_function *const *functions;
};

/*
 * Returns the bits of enum hip_bind_args for the words that the probes read. The agent sets these words at each launch;
 * they follow the kernel's own arguments.
 */
uint32_t hip_launch_args(const struct gpubpf_lower_job *job);

static inline const struct hip_emit *hip_emit_of(const struct gpubpf_llvm_target *target)
{
	return (const struct hip_emit *)target;
}

/* Implement inline_env and inline_end of struct gpubpf_llvm_target. */
void hip_inline_env(struct low *l, uint32_t site, LLVMValueRef env);
void hip_inline_end(struct low *l);

/* Compiles the sites of the job into a relocatable object. Each site becomes a kernel gpubpf_inline_<site>. `version`
 * is the version of the code object, 4 to 6. `end` is the 8-byte aligned end of the original kernel's arguments. For
 * `functions` see struct hip_emit. */
int hip_emit_sites(const struct gpubpf_lower_job *job, const struct hip_isa *isa, bool wave32, unsigned version,
		   const uint32_t *offsets, uint32_t end, const struct gpubpf_function *const *functions,
		   struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
