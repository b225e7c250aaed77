/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Register allocation for probes with branches. Demotion (probe.c) puts uniform values above the assembler's registers,
 * as if all were live at once. Here two values share a register if their live ranges are disjoint and the earlier value
 * has no pending read or write. Order and waits stay.
 *
 * Does:     computes liveness and interference, coalesces values, and colors groups of consecutive registers.
 * Before:   the probe has no uniform operations.
 * After:    the probe uses fewer registers, or is unchanged.
 * Requires: known targets of all branches.
 */
#ifndef GPUBPF_SASS_COMPACT_H
#define GPUBPF_SASS_COMPACT_H

#include "probe.h"

/* A nonzero `frame` means that the probe has a stack; its pointer keeps its register. Returns 0 or -ENOMEM. The probe
 * stays unchanged if it needs as many registers, or if a branch target is unknown. */
int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame);

#endif
