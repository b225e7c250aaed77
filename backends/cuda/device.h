/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CUDA_DEVICE_H
#define GPUBPF_CUDA_DEVICE_H

#include "backends/device.h"

extern const struct gpubpf_device_ops gpubpf_device_cuda;

#endif
