/* SPDX-License-Identifier: Apache-2.0 */
/* Writes code that stores the parameters of a kernel or function, named gpubpf_p<i>, in a struct gpubpf_env. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H

#include <stdio.h>

#include "backends/spirv/common/env_use.h"
#include "backends/spirv/opencl_c/unit.h"

struct cl_fill {
	FILE *out;
	const struct gpubpf_cl_kernel *owner; /* the kernel that has the parameters, or the function's signature */
	/* a site whose BPF programs use the environment; it assigns the offsets */
	const struct gpubpf_site_desc *site;
	const char *env; /* C expression for the environment, such as "gpubpf_env" */
	struct gpubpf_env_use use;
};

/* Write code that stores the arguments that BPF programs read, and the address of the buffer that helper 520 reads. */
void gpubpf_cl_fill(const struct cl_fill *f);

#endif
