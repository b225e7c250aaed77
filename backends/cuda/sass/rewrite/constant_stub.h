/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces instructions that read the application's __constant__ variables, which are in c[0x3] of the application's
 * module. The twin is another module with another c[0x3], so each such instruction becomes a branch to a stub. The stub
 * loads the value from the memory of the application's variable, at an address that the agent fills in. So the stub
 * sees every write that the application or a kernel has made before the launch, also in CUDA graphs. If the constant is
 * an operand of an arithmetic instruction, the stub executes that instruction with a register operand.
 *
 * Does:     replaces instructions that read c[0x3] by branches and appends their stubs.
 * Before:   `out` holds the kernel's code and all probes.
 * After:    out->addresses lists the immediates that the agent fills in.
 * Requires: registers above the kernel's, because stubs use no others. A stub leaves nothing in flight.
 */
#ifndef GPUBPF_SASS_CONSTANT_STUB_H
#define GPUBPF_SASS_CONSTANT_STUB_H

#include "backends/cuda/sass/analysis/code.h"
#include "backends/cuda/sass/isa/constant.h"

struct sass_patched_code;

/* Returns an upper bound of the number of instructions of all constant stubs. */
size_t sass_constants_max_insns(const struct sass_code *code);
/* Appends the stubs to `out`. Each stub first waits for the scoreboards in `left` (bits), which other probes may
 * leave set. Returns 0 or -ENOMEM. */
int sass_emit_constant_stubs(const struct sass_code *code, unsigned left, struct sass_patched_code *out);

#endif
