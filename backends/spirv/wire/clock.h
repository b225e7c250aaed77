/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/wire/caps.h"

/*
 * Returns the OpenCL C source of `ulong gpubpf_clock_read(void)` for a device's clock. On a device without a clock, the
 * function always returns 0. SPIR-V probes import this function, because LLVM 22 cannot emit SPIR-V that reads a clock.
 */
const char *gpubpf_cl_clock_source(enum gpubpf_clock clock);
/*
 * Returns the compile options that the source from gpubpf_cl_clock_source() requires. For example, Intel's runtime has
 * clock_read_device() only if -cl-std=CL3.0 is set.
 */
const char *gpubpf_cl_clock_options(enum gpubpf_clock clock);

/* Returns true if a SPIR-V module imports gpubpf_clock_read(). */
bool gpubpf_spv_reads_clock(const void *module, size_t size);
/*
 * Returns a SPIR-V module of *size bytes that defines gpubpf_clock_read(), for devices whose runtime cannot link OpenCL
 * C source (GPUBPF_CLOCK_CYCLES). The module also has a kernel that reads the clock: GPUBPF_SPV_CLOCK_KERNEL(global
 * ulong *to).
 */
#define GPUBPF_SPV_CLOCK_KERNEL "gpubpf_clock"
const void *gpubpf_spv_clock(size_t *size);

#endif
