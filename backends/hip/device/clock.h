/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H
#define GPUBPF_BACKENDS_HIP_DEVICE_CLOCK_H

#include <stdint.h>

/*
 * What the counter that kernels read (s_memrealtime, MSG_RTN_GET_REALTIME) shows now on the device of that place on
 * the bus ("0000:03:00.0"), and CLOCK_MONOTONIC before and after. ROCr, below HIP, relates the counter to the host's
 * clock. -EOPNOTSUPP: it does not, or what it says makes no sense.
 */
int hip_clock_read(const char *pci, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);

#endif
