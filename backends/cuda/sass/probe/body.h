/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a probe in the middle of a kernel, where other lanes of the warp may run other code. It has no branches:
 * all lanes that enter go through it together. A lane counts if the place's predicates hold for it. A predicate limits
 * memory effects to the lanes that count. A body that needs branches keeps them (`wanders`).
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
	struct sass_insn *insns;   /* malloc'd; loads of the place's values, of 32 bits each, are not moves yet */
	uint32_t n;
	uint32_t regs, frame;      /* as in struct sass_probe */
	uint32_t given;            /* the place's values that it reads, as bits */
	bool predicates;           /* it writes predicates */
	uint8_t meant;             /* the predicate that guards its effects; the probe's own instructions do not write
	                            * it */
	bool ends;                 /* lanes may end early; then `meant` is in use at every place */
	bool wanders;              /* it has branches: lanes that do not count go around it, and all lanes reconverge
	                            * after it */
	unsigned left;             /* scoreboards that guard the work that it leaves in flight */
};

/* Makes a body of a probe. guarded: places have a predicate, and the stub sets `meant` first. Else `meant` is SASS_PT
 * unless lanes may end early. It is also SASS_PT in a body with branches. -EINVAL and the reason; -ENOMEM. */
int sass_body_make(const struct sass_arch *arch, const struct sass_probe *probe, bool guarded, struct sass_body *body,
		   struct gpubpf_diag *diag);
void sass_body_finish(struct sass_body *body);

#endif
