/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the application's __constant__ variables, which are in c[0x3] of its module. The twin is another module with
 * another bank, so each such instruction becomes a branch to a stub. The stub loads the value from the original's
 * memory, at an address that the agent fills in. So it sees all that the application, or one of its kernels, wrote
 * before the launch, in graphs too. A constant operand of arithmetic becomes a register, and the stub executes the
 * instruction.
 *
 * Does:     replaces instructions that read c[0x3] by branches and appends their stubs.
 * Before:   `out` holds the kernel's code and all probes.
 * After:    out->addresses lists the immediates that the agent fills in.
 * Requires: registers above the kernel's. Stubs use no others and leave nothing in flight.
 */
#ifndef GPUBPF_SASS_CONSTANT_STUB_H
#define GPUBPF_SASS_CONSTANT_STUB_H

#include "backends/cuda/sass/analysis/constant.h"

struct sass_patched_code;

/* Upper bound of the instructions of all stubs. */
size_t sass_constants_max_insns(const struct sass_code *code);
/* Appends the stubs to `out`. Each waits for the scoreboards in `left` first. -ENOMEM. */
int sass_emit_constant_stubs(const struct sass_code *code, unsigned left, struct sass_patched_code *out);

#endif
