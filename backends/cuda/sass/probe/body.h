/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body is the code of a probe in the middle of a kernel, where other lanes of the warp may run other code. All lanes
 * that reach the place execute the body together. But the probe has effects only for the lanes for which the predicates
 * of the place hold. A body without branches has a guard predicate (`guard`) on every memory effect. A body with
 * branches (`has_branches`) needs no guard predicate, because the stub branches around it for the other lanes.
 *
 * Does:     guards the effects of a probe and replaces its early exits; removes dead code.
 * Before:   sass_probe_read() has read the probe.
 * After:    control falls through at the end of the body, and each slow instruction has a scoreboard.
 * Requires: a probe without instructions that exchange data between lanes.
 */
#ifndef GPUBPF_SASS_BODY_H
#define GPUBPF_SASS_BODY_H

#include "place_values.h"
#include "probe.h"

struct gpubpf_diag;

struct sass_body {
	struct sass_insn *insns; /* malloc'd. Still loads the values of the place from SASS_INPUT_BASE, 32 bits at a
	                          * time. The stub writer replaces these loads by moves. */
	uint32_t n;
	uint32_t regs, frame;    /* number of registers and bytes of stack, as in struct sass_probe */
	uint32_t place_values;   /* values of the place that the body reads: bit i for enum sass_input i */
	bool predicates;         /* the body writes predicates */
	uint8_t guard;           /* the guard predicate, which is true for lanes that run the probe, or SASS_PT. The
	                          * probe's own instructions do not write it. */
	bool ends_early;         /* the probe has an EXIT before its last instruction. A body without branches then
	                          * has a guard predicate at every place, and the EXIT clears that predicate. */
	bool has_branches;       /* the body has branches. The stub branches around it for lanes that do not run
	                            * the probe, and all lanes reconverge after it. */
	unsigned pending_boards; /* scoreboards, as bits, that are still set when the body ends */
};

/* Makes a body of a probe. guarded: the places have predicates, and the stub sets the guard predicate before the
 * body. `guard` becomes SASS_PT if the body has branches, or if `guarded` is false and no lane ends early. Returns
 * 0, -ENOMEM, or -EINVAL with the reason in *diag. */
int sass_body_make(const struct sass_arch *arch, const struct sass_probe *probe, bool guarded, struct sass_body *body,
		   struct gpubpf_diag *diag);
void sass_body_finish(struct sass_body *body);

#endif
