/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates memory for maps that are not in the arena. The caller calls each function between hip_enter() and
 * hip_leave().
 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_MEMORY_H
#define GPUBPF_BACKENDS_HIP_DEVICE_MEMORY_H

#include "core/device.h"
#include "driver.h"

/* Returns the GPUBPF_CAP_* bits of the kinds of memory that the device supports for maps. */
uint64_t hip_memory_caps(const struct hip_driver *hip, int device);
hipError_t hip_memory_get(const struct hip_driver *hip, struct gpubpf_device_memory *memory);
void hip_memory_put(const struct hip_driver *hip, const struct gpubpf_device_memory *memory);

#endif
