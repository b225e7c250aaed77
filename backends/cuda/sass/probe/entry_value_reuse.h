/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the exit probe reuse values that the entry probe has computed, such as addresses and the number of the lane.
 *
 * Does:     finds values that both probes compute, and keeps them in registers above the kernel's.
 * Before:   both probes are scheduled (schedule.h).
 * After:    the exit probe reads these values from registers. Value numbering has proved both probes equivalent to the
 *           original probes.
 * Requires: straight-line probes, and no other code that writes these registers.
 */
#ifndef GPUBPF_SASS_ENTRY_VALUE_REUSE_H
#define GPUBPF_SASS_ENTRY_VALUE_REUSE_H

#include "probe.h"

/* Changes both probes if each is straight-line code, if each then needs at most `most` registers, and if the proof
 * succeeds. Otherwise leaves both unchanged. Returns 0 or -ENOMEM. */
int sass_reuse_entry_values(const struct sass_arch *arch, struct sass_probe *entry, struct sass_probe *exit, uint32_t most);

#endif
