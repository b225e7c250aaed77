/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying an arena between a device's memory and its mirror on the host, each word from its one writer. The
 * host writes the positions of ring readers and the device everything else. A reader in another process
 * looks at the mirror all the while, so a ring's bytes arrive before the position that announces them.
 * For the agent: libc only.
 */
#ifndef GPUBPF_MAPS_MIRROR_H
#define GPUBPF_MAPS_MIRROR_H

#include <stdbool.h>

#include "layout.h"

/* Copy a range from or to the device; 0 or -errno. */
typedef int (*gpubpf_mirror_fn)(void *arg, u64 offset, u64 size);

/* Device to mirror: push what the host writes, then pull the rest. `arena` is the mirror, of `size` bytes. `still`:
 * no kernel runs; while one does, rings are left out, whose records may be half written (maps/ring.h). */
int gpubpf_mirror_pull(const void *arena, u64 size, bool still, gpubpf_mirror_fn pull, gpubpf_mirror_fn push, void *arg);

#endif
