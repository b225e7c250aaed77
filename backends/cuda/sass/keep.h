/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an entry's probe has computed and an exit's would compute again: addresses, and which lane it is. It stays where it is, above
 * the kernel's registers, and the exit's probe begins with it.
 */
#ifndef GPUBPF_SASS_KEEP_H
#define GPUBPF_SASS_KEEP_H

#include "probe.h"

/* The probes are changed, if both are straight and no more than `most` registers are needed so; else they stay as they are.
 * -ENOMEM. */
int sass_keep(const struct sass_arch *arch, struct sass_probe *entry, struct sass_probe *exit, uint32_t most);

#endif
