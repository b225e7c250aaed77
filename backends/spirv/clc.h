/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SPIRV_CLC_H
#define GPUBPF_SPIRV_CLC_H

#include "backends/target.h"

extern const struct gpubpf_target gpubpf_target_clc;

#endif
