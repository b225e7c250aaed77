/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates registers for probes with branches. Demotion (probe.c) gives every uniform register a separate per-lane
 * register above the assembler's registers, as if all were live at once. Here two values share a register if their live
 * ranges are disjoint and the earlier value has no read or write in flight. The order and the waits of the instructions
 * do not change.
 *
 * Does:     computes liveness and interference, coalesces values, and colors groups of consecutive registers.
 * Before:   the probe has no uniform operations.
 * After:    the probe uses fewer registers, or is unchanged.
 * Requires: the targets of all branches are known.
 */
#ifndef GPUBPF_SASS_REGALLOC_H
#define GPUBPF_SASS_REGALLOC_H

#include "probe.h"

/* Reduces the registers of a probe. Leaves the probe unchanged if this saves no register or if an instruction is not
 * supported. Nonzero `frame`: the probe has a stack, and its stack pointer stays in R1. Returns 0 or -ENOMEM. */
int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame);

#endif
