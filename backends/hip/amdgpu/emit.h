/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the amdgpu target: probes as LLVM compiles them, for twins (env.c, target.c). */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_EMIT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_EMIT_H

#include <llvm-c/Core.h>

#include "core/lower/llvm/llvm.h"
#include "backends/hip/amdgpu/isa/isa.h"

struct gpubpf_function;
struct low;

/* the target, and the properties of a kernel that the lowering of its probes needs */
struct hip_emit {
	struct gpubpf_llvm_target target; /* must be first */
	const uint32_t *offsets;          /* [parameter] offset in the kernel's arguments, in bytes */
	uint32_t launch, pid;             /* offsets in the kernel's arguments of the words that each launch fills */
	const struct gpubpf_function *const *functions; /* [site] the debug information of the site's function; NULL:
							 * unknown */
};

/* Returns the words that each launch of a twin fills after the kernel's arguments: enum hip_bind_args. */
uint32_t hip_launch_args(const struct gpubpf_lower_job *job);

static inline const struct hip_emit *hip_emit_of(const struct gpubpf_llvm_target *target)
{
	return (const struct hip_emit *)target;
}

/* struct gpubpf_llvm_target's inline_env and inline_end */
void hip_inline_env(struct low *l, uint32_t site, LLVMValueRef env);
void hip_inline_end(struct low *l);

/* Emits the sites of the job as a relocatable object with a kernel gpubpf_inline_<site> each. The code object has
 * `version` 4 to 6. The kernel's arguments end at `end`, 8-byte aligned. For `functions` see struct hip_emit. */
int hip_emit_sites(const struct gpubpf_lower_job *job, const struct hip_isa *isa, bool wave32, unsigned version,
		   const uint32_t *offsets, uint32_t end, const struct gpubpf_function *const *functions,
		   struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
