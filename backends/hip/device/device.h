/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_DEVICE_H
#define GPUBPF_BACKENDS_HIP_DEVICE_DEVICE_H

#include "core/device.h"

/* In struct gpubpf_device_open, runtime is a struct hip_driver and index is the device's ordinal in it. Without a
 * runtime, the name and index are matched against all devices. */
extern const struct gpubpf_device_ops gpubpf_device_hip;

#endif
