/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/wire/caps.h"

/* Returns the OpenCL C source of `ulong gpubpf_clock_read(void)` for a device's clock. SPIR-V pieces import this
 * function, because SPIR-V has no clock that LLVM 22 can name. On a device without a clock the function always returns
 * 0. */
const char *gpubpf_cl_clock_source(enum gpubpf_clock clock);
/* Compile options that this source requires: Intel's runtime has clock_read_device() only from OpenCL C 2.0 on. */
const char *gpubpf_cl_clock_options(enum gpubpf_clock clock);

/* Does a SPIR-V module import gpubpf_clock_read()? */
bool gpubpf_spv_reads_clock(const void *module, size_t size);
/* The same function as a SPIR-V module of *size bytes, for devices whose runtime links no source: GPUBPF_CLOCK_CYCLES.
 * The module also has a kernel that reads the clock: GPUBPF_SPV_CLOCK_KERNEL(global ulong *to). */
#define GPUBPF_SPV_CLOCK_KERNEL "gpubpf_clock"
const void *gpubpf_spv_clock(size_t *size);

#endif
