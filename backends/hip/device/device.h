/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_DEVICE_H
#define GPUBPF_BACKENDS_HIP_DEVICE_DEVICE_H

#include "core/device.h"

/* The device operations for HIP. In struct gpubpf_device_open, `runtime` is a struct hip_driver and `index` is the
 * ordinal of the device. If `runtime` is NULL, the driver is loaded, and the device is the index-th one that matches
 * `name`. */
extern const struct gpubpf_device_ops gpubpf_device_hip;

#endif
