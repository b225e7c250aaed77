/* SPDX-License-Identifier: Apache-2.0 */
/* Cases as IL: clang compiles OpenCL C to SPIR-V, and our injector makes the twin's module. */
#ifndef GPUBPF_TESTS_WRAP_IL_H
#define GPUBPF_TESTS_WRAP_IL_H

#include "core/target.h"
#include "core/model/diag.h"
#include "core/wire/pool.h"

extern const char *il_clang;    /* NULL: no clang */

/* Compiles OpenCL C text to SPIR-V 1.4; data NULL if clang refuses. */
struct gpubpf_blob il_compile(const char *text, const char *options);
/* Runs spirv-val --target-env spv1.4; true if it is not installed. */
bool il_valid(const struct gpubpf_blob *module);
/* Lists the kernels of a module; they are in the pool. */
int il_inspect(const struct gpubpf_blob *module, struct gpubpf_pool *pool, struct gpubpf_kernel_info **kernels,
	       uint32_t *nkernels, struct gpubpf_diag *diag);
/* Makes the twin of the kernels that the job's sites name. */
int il_inject(const struct gpubpf_blob *module, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *twin,
	      struct gpubpf_diag *diag);

#endif
