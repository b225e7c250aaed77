/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the parts of the ptx target that open images, list their places and make twins (env.c, inspect.c, inject.c).
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_INJECT_H
#define GPUBPF_BACKENDS_CUDA_PTX_INJECT_H

#include <llvm-c/Core.h>

#include "core/target.h"
#include "backends/cuda/ptx/ir/ptx.h"

struct low;

/* implement inline_env and inline_end of struct gpubpf_llvm_target */
void cuda_inline_env(struct low *l, uint32_t site, LLVMValueRef env);
void cuda_inline_end(struct low *l);

/*
 * An open image: its PTX and the parse tree. If the image has a kernel name, the PTX may be only the part that this
 * kernel needs.
 */
struct cuda_parsed_image {
	char *text;
	struct ptx_module m;
};

int cuda_open_image(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		    struct cuda_parsed_image *o, struct gpubpf_diag *diag);
void cuda_close_image(struct cuda_parsed_image *o);

/*
 * Implement inspect and inject of struct gpubpf_target. The twin's text begins with a line "//gpubpf-bind NAME" for
 * each application variable that the twin uses. Line i names the variable whose address the agent stores in
 * gpubpf_bind_<i>.
 */
int cuda_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int cuda_target_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

/* target.c: emits the sites of the job as PTX, and lists the registers that the PTX uses but does not declare */
int cuda_emit_sites(const struct gpubpf_lower_job *job, const char *cpu, bool uses_accumulators,
		    struct gpubpf_blob *out, struct gpubpf_site_registers *registers, struct gpubpf_diag *diag);

#endif
