/* SPDX-License-Identifier: Apache-2.0 */
/* How sites become PTX, for those who do more with it than put it into a kernel's text (backends/cuda/sass). */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_EMIT_H
#define GPUBPF_BACKENDS_CUDA_PTX_EMIT_H

#include <llvm-c/Core.h>

#include "core/lower/llvm.h"
#include "core/lower/llvm_low.h"

/* the ptx target's; a copy may have another way to the environment */
extern const struct gpubpf_llvm_target cuda_llvm_target;

/* The sites of the job as PTX, checked for the architecture that opts or caps name. */
int cuda_emit(const struct gpubpf_llvm_target *target, const struct gpubpf_lower_job *job,
	      const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
/* struct gpubpf_llvm_target's inline_env, arguments read by `load`, what places of single instructions give by `give`;
 * cuda_load_param() reads the parameter called name. */
typedef void cuda_give_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env);
void cuda_inline_env_by(struct low *l, uint32_t site, LLVMValueRef env, low_load_param *load, cuda_give_operands *give);
/* What the agent stores in the twin's word of that name. */
LLVMValueRef cuda_load_word(struct low *l, const char *name);
LLVMValueRef cuda_load_param(struct low *l, const char *name, uint32_t off, uint32_t bytes);

#endif
