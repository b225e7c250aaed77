/* SPDX-License-Identifier: Apache-2.0 */
/* Emits sites as PTX. The ptx target and backends/cuda/sass, which assembles this PTX, use it. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_EMIT_H
#define GPUBPF_BACKENDS_CUDA_PTX_EMIT_H

#include <llvm-c/Core.h>

#include "core/lower/llvm/llvm.h"
#include "core/lower/llvm/low.h"

/*
 * LLVM description of the ptx target. Another target may copy it and replace the function by which probes read the
 * environment.
 */
extern const struct gpubpf_llvm_target cuda_llvm_target;

/* Emits the sites of the job as PTX for the architecture that `opts` names, or else for the device's. */
int cuda_emit(const struct gpubpf_llvm_target *target, const struct gpubpf_lower_job *job,
	      const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
/*
 * Implements inline_env of struct gpubpf_llvm_target. `load` reads an argument of the GPU kernel; `load_operands` loads
 * the operands of an instruction place. The function cuda_load_param() reads the kernel parameter `name`.
 */
typedef void cuda_load_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env);
void cuda_inline_env_by(struct low *l, uint32_t site, LLVMValueRef env, low_load_param *load,
			cuda_load_operands *load_operands);
/* Loads the variable `name` of the twin's constant memory, which the agent stores there. */
LLVMValueRef cuda_load_word(struct low *l, const char *name);
LLVMValueRef cuda_load_param(struct low *l, const char *name, uint32_t off, uint32_t bytes);

#endif
