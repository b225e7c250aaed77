/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the exit probe reuse values that the entry probe has computed: addresses, and the lane's identity.
 *
 * Does:     finds values that both probes compute; they stay in registers above the kernel's.
 * Before:   both probes are scheduled (schedule.h).
 * After:    the exit probe reads these values from registers; value numbering has proved both probes equivalent to
 *           the original ones.
 * Requires: straight-line probes, and no other code that writes these registers.
 */
#ifndef GPUBPF_SASS_ENTRY_VALUE_REUSE_H
#define GPUBPF_SASS_ENTRY_VALUE_REUSE_H

#include "probe.h"

/* Changes both probes if each is straight-line code, the result needs at most `most` registers per probe, and the
 * proof succeeds. Else leaves them unchanged. Returns 0 or -ENOMEM. */
int sass_reuse_entry_values(const struct sass_arch *arch, struct sass_probe *entry, struct sass_probe *exit, uint32_t most);

#endif
