/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the probe of an exit reuse values that the probe of the entry has computed: addresses, and the lane's identity.
 *
 * Does:     finds values that both probes compute; they stay in registers above the kernel's.
 * Before:   both probes are scheduled (schedule.h).
 * After:    the exit's probe starts with these values, and value numbering has proved both probes.
 * Requires: straight-line probes, and no other code that writes these registers.
 */
#ifndef GPUBPF_SASS_KEEP_H
#define GPUBPF_SASS_KEEP_H

#include "probe.h"

/* Changes the probes if both are straight-line code and need at most `most` registers; else it leaves them alone.
 * -ENOMEM. */
int sass_reuse_entry_values(const struct sass_arch *arch, struct sass_probe *entry, struct sass_probe *exit, uint32_t most);

#endif
