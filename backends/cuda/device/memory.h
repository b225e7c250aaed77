/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements struct gpubpf_device_ops for memory of a CUDA device outside of the arena, and returns the device's
 * GPUBPF_CAP_* bits for such memory.
 */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_MEMORY_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_MEMORY_H

#include "arena.h"

uint64_t cuda_memory_caps(const struct gpubpf_device *device);
int cuda_memory_get(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
		    struct gpubpf_device_memory *memory, struct gpubpf_reason *why);
void cuda_memory_put(struct gpubpf_device *device, const struct gpubpf_device_memory *memory);

#endif
