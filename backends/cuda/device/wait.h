/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the kernels of a CUDA device, with a deadline. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H

#include "arena.h"

/* struct gpubpf_device_ops's settle */
int cuda_wait_idle(struct gpubpf_device *device, uint32_t timeout_ms);
/* Cancels an abandoned wait or waits for its end, because the caller may destroy the context next. */
void cuda_end_wait(struct gpubpf_device *device);

#endif
