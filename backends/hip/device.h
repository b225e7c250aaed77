/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HIP_DEVICE_H
#define GPUBPF_HIP_DEVICE_H

#include "backends/device.h"

/* In struct gpubpf_device_open, runtime is a struct hip_driver and index the device's ordinal there; without
 * a runtime, the name and index are matched against all devices. */
extern const struct gpubpf_device_ops gpubpf_device_hip;

#endif
