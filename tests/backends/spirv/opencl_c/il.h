/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases as IL: clang compiles the OpenCL C to SPIR-V, and gpubpf's injector makes the twin's module. */
#ifndef GPUBPF_TESTS_WRAP_IL_H
#define GPUBPF_TESTS_WRAP_IL_H

#include "core/target.h"
#include "core/model/diag.h"
#include "core/wire/pool.h"

extern const char *il_clang;    /* NULL: no clang */

/* Compiles OpenCL C text to SPIR-V 1.4. The result has no data if clang refuses the text. */
struct gpubpf_blob il_compile(const char *text, const char *options);
/* Returns whether spirv-val --target-env spv1.4 accepts the module, or true if spirv-val is not installed. */
bool il_valid(const struct gpubpf_blob *module);
/* Lists the kernels of a module. The pool owns the list. */
int il_inspect(const struct gpubpf_blob *module, struct gpubpf_pool *pool, struct gpubpf_kernel_info **kernels,
	       uint32_t *nkernels, struct gpubpf_diag *diag);
/* Makes the twin of the kernels that the job's sites name. */
int il_inject(const struct gpubpf_blob *module, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *twin,
	      struct gpubpf_diag *diag);

#endif
