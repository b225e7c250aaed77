/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes in as few registers as their values need. What the warp's own values become (probe.c) lies behind the assembler's
 * registers, as if all of it were wanted at once; here values that are never wanted at the same time share one. The order and
 * the waits stay: who shares a register with a value of before comes when that is no longer wanted, and nothing is in flight
 * that reads or writes it.
 */
#ifndef GPUBPF_SASS_COMPACT_H
#define GPUBPF_SASS_COMPACT_H

#include "probe.h"

/* frame: it has a stack, whose pointer stays where it is. 0, also where the probe stays as it is, since it would need as many or
 * has an instruction of which is not known where it leads; -ENOMEM. */
int sass_compact(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame);

#endif
