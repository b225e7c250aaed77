/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the kernels of a CUDA device, with a deadline. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H

#include "arena.h"

/* Implements `settle` of struct gpubpf_device_ops: waits until the context is idle. Returns 0, or -errno such as
 * -ETIMEDOUT. */
int cuda_wait_idle(struct gpubpf_device *device, uint32_t timeout_ms);
/* Cancels an abandoned wait or waits for its end, because the caller may destroy the context next. */
void cuda_end_wait(struct gpubpf_device *device);

#endif
