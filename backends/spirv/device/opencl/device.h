/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_DEVICE_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_DEVICE_H

#include "core/device.h"

/* how->runtime: const cl_icd_dispatch *; context and handle: cl_context and cl_device_id. arena_attach() returns the
 * cl_mem as the address; twins take it as their argument gpubpf_arena. */
extern const struct gpubpf_device_ops gpubpf_device_opencl;

#endif
