/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins two probes of one place. At the entry these are the probes of a block's first lane and of all lanes. They may
 * also be the code that counts lanes and a probe.
 *
 * Does:     appends the second probe to the first, with a wait for all its work between them.
 * Before:   both probes are complete.
 * After:    the first holds both; the second is empty.
 * Requires: nothing.
 */
#ifndef GPUBPF_SASS_JOIN_H
#define GPUBPF_SASS_JOIN_H

#include "backends/cuda/sass/probe/probe.h"

enum sass_join_kind {
	SASS_JOIN_CONVERGED,        /* lanes that leave the first continue in the second, to which a warp's lanes come
	                            * converged */
	SASS_JOIN_SEPARATE,           /* likewise, without convergence, as they came to the first */
	SASS_JOIN_FILTER,          /* lanes that leave the first are done; the first leaves nothing in flight */
};

/* Appends *second to *first, which then owns both. -ENOMEM. */
int sass_probe_join(const struct sass_arch *arch, struct sass_probe *first, struct sass_probe *second, enum sass_join_kind how);

#endif
