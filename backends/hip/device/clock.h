/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H
#define GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H

#include <stdint.h>

/*
 * Reads the counter that kernels read (s_memrealtime, MSG_RTN_GET_REALTIME) on the device at that PCI address
 * ("0000:03:00.0"). Also returns CLOCK_MONOTONIC before and after. ROCr, below HIP, relates the counter to the host's
 * clock.
 * Returns 0, or -EOPNOTSUPP if ROCr does not, or if its values are implausible.
 */
int hip_clock_read(const char *pci, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);

#endif
