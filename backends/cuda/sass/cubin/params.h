/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of kernels from .nv.info.<kernel>: offsets and sizes. The image has no names or types. */
#ifndef GPUBPF_SASS_PARAMS_H
#define GPUBPF_SASS_PARAMS_H

#include "core/lower/lower.h"
#include "cubin.h"
#include "backends/cuda/sass/isa/isa.h"

struct gpubpf_diag;

#define SASS_PARAMS_MAX 4096       /* of one kernel: its parameters have at most 32,764 bytes */

/* Returns the number of parameters, 0 for an unknown architecture, and fills in their sizes and alignments. The caller
 * passes SASS_PARAMS_MAX zeroed elements. -EINVAL and a reason. */
int sass_params(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct gpubpf_param *params,
		struct gpubpf_diag *diag);
/* The offset of parameter i in the kernel's parameters, computed from sizes and alignments. */
uint32_t sass_param_off(const struct sass_arch *arch, const struct gpubpf_param *params, uint32_t i);

#endif
