/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SPIRV_SPIRV_H
#define GPUBPF_SPIRV_SPIRV_H

#include "backends/target.h"

extern const struct gpubpf_target gpubpf_target_spirv;

#endif
