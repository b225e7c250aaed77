/* SPDX-License-Identifier: Apache-2.0 */
/* Two probes of one place as one: the entry's of all lanes, and that of a block's first; what counts lanes, and what others do. */
#ifndef GPUBPF_SASS_JOIN_H
#define GPUBPF_SASS_JOIN_H

#include "probe.h"

enum sass_joined {
	SASS_JOIN_TOGETHER,        /* who leaves the first goes on to the second, to which a warp's lanes come all together; */
	SASS_JOIN_APART,           /* by themselves, as they have come to the first */
	SASS_JOIN_OTHERS,          /* who leaves the first, which leaves nothing in flight, has left */
};

/* The second behind the first, in *first, when all that the first began has been done. *second is empty then. -ENOMEM. */
int sass_probe_join(const struct sass_arch *arch, struct sass_probe *first, struct sass_probe *second, enum sass_joined how);

#endif
