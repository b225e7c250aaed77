/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PARAMS_H
#define GPUBPF_BACKENDS_CUDA_PTX_PARAMS_H

#include "core/lower/lower.h"
#include "backends/cuda/ptx/ir/ptx.h"

/*
 * Returns the node of parameter i of a function, or PTX_NONE past the last parameter. Results do not count as
 * parameters.
 */
uint32_t cuda_param_node(const struct ptx_module *m, uint32_t function, uint32_t i);
/* Lists the parameters of a function in order. *params is malloc'd. Returns 0 or -ENOMEM. */
int cuda_params(const struct ptx_module *m, uint32_t function, struct gpubpf_param **params, uint32_t *nparams);

#endif
