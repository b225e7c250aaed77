/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_TARGET_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_TARGET_H

#include "core/target.h"

extern const struct gpubpf_target gpubpf_target_wrap;

#endif
