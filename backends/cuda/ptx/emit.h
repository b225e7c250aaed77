/* SPDX-License-Identifier: Apache-2.0 */
/* Emits sites as PTX, for targets that process it further (backends/cuda/sass). */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_EMIT_H
#define GPUBPF_BACKENDS_CUDA_PTX_EMIT_H

#include <llvm-c/Core.h>

#include "core/lower/llvm/llvm.h"
#include "core/lower/llvm/low.h"

/* the ptx target's LLVM description; another target may copy it and replace how probes read the environment */
extern const struct gpubpf_llvm_target cuda_llvm_target;

/* Emits the sites of the job as PTX, checked for the architecture that opts or caps name. */
int cuda_emit(const struct gpubpf_llvm_target *target, const struct gpubpf_lower_job *job,
	      const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
/* Implements struct gpubpf_llvm_target's inline_env with callbacks: the first reads arguments, the second loads the
 * operands of instruction places. The function cuda_load_param() reads the parameter of that name. */
typedef void cuda_load_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env);
void cuda_inline_env_by(struct low *l, uint32_t site, LLVMValueRef env, low_load_param *load,
			cuda_load_operands *load_operands);
/* Loads the word of that name, which the agent stores in the twin. */
LLVMValueRef cuda_load_word(struct low *l, const char *name);
LLVMValueRef cuda_load_param(struct low *l, const char *name, uint32_t off, uint32_t bytes);

#endif
