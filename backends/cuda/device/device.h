/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_DEVICE_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_DEVICE_H

#include "core/device.h"

extern const struct gpubpf_device_ops gpubpf_device_cuda;

#endif
