/* SPDX-License-Identifier: Apache-2.0 */
/* Two probes of one place as one: the entry's of all lanes, and that of a block's first. */
#ifndef GPUBPF_SASS_JOIN_H
#define GPUBPF_SASS_JOIN_H

#include "probe.h"

/* The second behind the first, in *first: who leaves that goes on to the second, when all that the first began has been done and its
 * warp's lanes are together again. *second is empty then. -ENOMEM. */
int sass_probe_join(const struct sass_arch *arch, struct sass_probe *first, struct sass_probe *second);

#endif
