/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a kernel, or of a function, in an environment: gpubpf_p<i> by number. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_FILL_H

#include <stdio.h>

#include "backends/spirv/common/env_use.h"
#include "read.h"

struct cl_fill {
	FILE *out;
	const struct gpubpf_cl_kernel *of; /* whose they are */
	const struct gpubpf_site_desc *site; /* any of its programs' */
	const char *env;               /* the environment */
	struct gpubpf_env_use use;
};

/* Store the arguments that programs read, and where the bytes are that helper 520 does. */
void gpubpf_cl_fill(const struct cl_fill *f);

#endif
