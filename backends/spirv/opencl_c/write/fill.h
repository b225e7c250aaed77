/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the parameters of a kernel or function, named gpubpf_p<i>, in an environment. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H

#include <stdio.h>

#include "backends/spirv/common/env_use.h"
#include "backends/spirv/opencl_c/unit.h"

struct cl_fill {
	FILE *out;
	const struct gpubpf_cl_kernel *owner; /* the kernel, or a function's signature, that has the parameters */
	const struct gpubpf_site_desc *site;  /* any site whose programs use the environment */
	const char *env;                      /* expression for the environment */
	struct gpubpf_env_use use;
};

/* Store the arguments that programs read, and the address of the bytes that helper 520 reads. */
void gpubpf_cl_fill(const struct cl_fill *f);

#endif
