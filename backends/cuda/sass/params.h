/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of kernels as .nv.info.<kernel> has them: where they lie and how large they are, no names or types. */
#ifndef GPUBPF_SASS_PARAMS_H
#define GPUBPF_SASS_PARAMS_H

#include "core/lower/lower.h"
#include "cubin.h"
#include "isa.h"

struct gpubpf_diag;

#define SASS_PARAMS_MAX 4096       /* of one kernel: there are at most 32,764 bytes of them */

/* How many there are, none for an unknown architecture; their sizes and alignments into params, which are zeroed and
 * SASS_PARAMS_MAX. -EINVAL and a reason. */
int sass_params(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct gpubpf_param *params,
		struct gpubpf_diag *diag);
/* Where parameter i lies in the kernel's parameters, by sizes and alignments. */
uint32_t sass_param_off(const struct sass_arch *arch, const struct gpubpf_param *params, uint32_t i);

#endif
