/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins two probes of one place. At the entry these are the probe for the first lane of a block and the probe for all
 * lanes. Elsewhere they are the code that counts lanes and a probe.
 *
 * Does:     appends the second probe to the first, with a wait between them for all operations of the first.
 * Before:   both probes are complete.
 * After:    the first probe contains both; the second is empty.
 * Requires: nothing.
 */
#ifndef GPUBPF_SASS_JOIN_H
#define GPUBPF_SASS_JOIN_H

#include "backends/cuda/sass/probe/probe.h"

enum sass_join_kind {
	SASS_JOIN_CONVERGED, /* lanes that end the first probe execute the second probe; the whole warp reconverges
	                      * between them */
	SASS_JOIN_SEPARATE,  /* lanes that end the first probe execute the second probe, without reconvergence,
	                      * because they have reached the first probe separately */
	SASS_JOIN_FILTER,    /* lanes that execute an EXIT of the first probe end there, and the other lanes fall
	                      * through. The first probe leaves nothing in flight. */
};

/* Appends *second to *first, which then owns the instructions of both. Returns 0 or -ENOMEM. */
int sass_probe_join(const struct sass_arch *arch, struct sass_probe *first, struct sass_probe *second,
		    enum sass_join_kind how);

#endif
