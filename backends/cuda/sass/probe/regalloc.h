/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Register allocation for probes with branches. Demotion (probe.c) gives every uniform register a separate per-lane
 * register above the assembler's, as if all were live at once. Here two values share a register if their live ranges
 * are disjoint and the earlier value has no read or write in flight. The order and the waits do not change.
 *
 * Does:     computes liveness and interference, coalesces values, and colors groups of consecutive registers.
 * Before:   the probe has no uniform operations.
 * After:    the probe uses fewer registers, or is unchanged.
 * Requires: known targets of all branches.
 */
#ifndef GPUBPF_SASS_REGALLOC_H
#define GPUBPF_SASS_REGALLOC_H

#include "probe.h"

/* Nonzero `frame`: the probe has a stack, and R1, its pointer, keeps its register. Returns 0 or -ENOMEM. Leaves the
 * probe unchanged if the new allocation saves no register or an instruction is not supported. */
int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame);

#endif
