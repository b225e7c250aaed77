/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body is the code of a probe in the middle of a kernel, where other lanes of the warp may run other code. All lanes
 * that reach the place execute the body together. The probe runs only for those of them for which the place's
 * predicates hold. A body without branches gets a guard predicate (`guard`) on every memory effect. A body with
 * branches (`has_branches`) needs none, because the stub branches around it for the other lanes.
 *
 * Does:     guards the effects of a probe and replaces its early exits; removes dead code.
 * Before:   sass_probe_read() has read the probe.
 * After:    the body falls through at its end, and each slow instruction has a scoreboard.
 * Requires: a probe without instructions that exchange data between lanes.
 */
#ifndef GPUBPF_SASS_BODY_H
#define GPUBPF_SASS_BODY_H

#include "place_values.h"
#include "probe.h"

struct gpubpf_diag;

struct sass_body {
	struct sass_insn *insns; /* malloc'd. It still loads the place's values from SASS_INPUT_BASE, 32 bits at a
	                            * time; the stub writer replaces these loads by moves. */
	uint32_t n;
	uint32_t regs, frame;    /* as in struct sass_probe */
	uint32_t place_values;   /* place values that it reads: bit i for enum sass_input i */
	bool predicates;         /* it writes predicates */
	uint8_t guard;           /* the guard predicate: it is true for lanes that run the probe. SASS_PT: the body
	                            * has none. The probe's own instructions do not write it. */
	bool ends_early;         /* the probe has an EXIT before its last instruction; then a body without branches
	                            * has a guard predicate at every place, and the EXIT clears it */
	bool has_branches;       /* the body has branches. The stub branches around it for lanes that do not run
	                            * the probe, and all lanes reconverge after it. */
	unsigned pending_boards; /* scoreboards that are still set when the body ends, as bits */
};

/* Makes a body of a probe. guarded: the places have predicates, and the stub sets the guard predicate before the
 * body. `guard` is SASS_PT if the body has branches, or if it is not guarded and no lane ends early. Returns 0;
 * -EINVAL with the reason in *diag; -ENOMEM. */
int sass_body_make(const struct sass_arch *arch, const struct sass_probe *probe, bool guarded, struct sass_body *body,
		   struct gpubpf_diag *diag);
void sass_body_finish(struct sass_body *body);

#endif
