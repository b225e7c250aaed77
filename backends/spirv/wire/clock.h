/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/wire/caps.h"

/* ulong gpubpf_clock_read(void) in OpenCL C for the clock of a device: what SPIR-V pieces import, since
 * SPIR-V has no clock that LLVM 22 can name. Returns 0 always for a device without one. */
const char *gpubpf_cl_clock_source(enum gpubpf_clock clock);
/* What that source must be compiled with: Intel's runtime has clock_read_device() from OpenCL C 2.0 on only. */
const char *gpubpf_cl_clock_options(enum gpubpf_clock clock);

/* Does a SPIR-V module import gpubpf_clock_read()? */
bool gpubpf_spv_reads_clock(const void *module, size_t size);
/* The same function as a SPIR-V module of *size bytes, for devices whose runtime links no source: GPUBPF_CLOCK_CYCLES. It
 * has a kernel beside it, GPUBPF_SPV_CLOCK_KERNEL(global ulong *to), that reads the clock. */
#define GPUBPF_SPV_CLOCK_KERNEL "gpubpf_clock"
const void *gpubpf_spv_clock(size_t *size);

#endif
