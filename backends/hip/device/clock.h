/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H
#define GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H

#include <stdint.h>

/*
 * Reads the device's real-time counter, which GPU kernels read by s_memrealtime or MSG_RTN_GET_REALTIME. `pci` is the
 * PCI address of the device, for example "0000:03:00.0". *before_ns and *after_ns are CLOCK_MONOTONIC before and after
 * the read. The function uses ROCr, the library below HIP, which relates the counter to the host's clock.
 *
 * Returns 0, or -EOPNOTSUPP if ROCr lacks the functions or returns implausible values.
 */
int hip_clock_read(const char *pci, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);

#endif
