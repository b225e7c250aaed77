/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_DEVICE_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_DEVICE_H

#include "core/device.h"

/*
 * In struct gpubpf_device_open: runtime is a const cl_icd_dispatch *, context a cl_context, and handle a cl_device_id.
 * The operation arena_attach() returns the arena's cl_mem as the address; twins receive the cl_mem in their argument
 * gpubpf_arena.
 */
extern const struct gpubpf_device_ops gpubpf_device_opencl;

#endif
