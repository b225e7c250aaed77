/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CUDA_TARGET_H
#define GPUBPF_CUDA_TARGET_H

#include "backends/target.h"

extern const struct gpubpf_target gpubpf_target_ptx;

#endif
