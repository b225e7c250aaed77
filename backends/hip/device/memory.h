/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of an AMD device for maps outside of the arena. Call each function between hip_enter() and hip_leave(). */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_MEMORY_H
#define GPUBPF_BACKENDS_HIP_DEVICE_MEMORY_H

#include "core/device.h"
#include "driver.h"

/* Returns the GPUBPF_CAP_* bits of the device's memory. */
uint64_t hip_memory_caps(const struct hip_driver *hip, int device);
hipError_t hip_memory_get(const struct hip_driver *hip, struct gpubpf_device_memory *memory);
void hip_memory_put(const struct hip_driver *hip, const struct gpubpf_device_memory *memory);

#endif
