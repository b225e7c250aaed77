/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until a CUDA device's GPU kernels have ended, with a deadline. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_WAIT_H

#include "arena.h"

/*
 * Implements `settle` of struct gpubpf_device_ops: waits until no GPU kernel of the context runs. Returns 0, or -errno
 * such as -ETIMEDOUT.
 */
int cuda_wait_idle(struct gpubpf_device *device, uint32_t timeout_ms);
/*
 * Ends an abandoned wait, because the caller may destroy the context next: cancels a wait that has not begun, or waits
 * until it ends.
 */
void cuda_end_wait(struct gpubpf_device *device);

#endif
