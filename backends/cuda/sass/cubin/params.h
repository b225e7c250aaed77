/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the offsets and sizes of a kernel's parameters from .nv.info.<kernel>. The image has no names or types. */
#ifndef GPUBPF_SASS_PARAMS_H
#define GPUBPF_SASS_PARAMS_H

#include "core/lower/lower.h"
#include "cubin.h"
#include "backends/cuda/sass/isa/isa.h"

struct gpubpf_diag;

#define SASS_PARAMS_MAX 4096       /* maximum number of parameters of a kernel; they have at most 32,764 bytes
                                    * together */

/* Writes the sizes and alignments of the parameters to `params`, an array of SASS_PARAMS_MAX elements that the
 * caller has zeroed. Returns the number of parameters, 0 for an unknown architecture, or -EINVAL with the reason in
 * *diag. */
int sass_params(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct gpubpf_param *params,
		struct gpubpf_diag *diag);
/* Returns the offset in bytes of parameter i from the first parameter, computed from sizes and alignments. */
uint32_t sass_param_off(const struct sass_arch *arch, const struct gpubpf_param *params, uint32_t i);

#endif
