/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe that can stand in the middle of a kernel, where other lanes of the warp may be elsewhere: it has no branch, all
 * lanes that come go through it together, and what it does to memory is done under a predicate that says which are meant.
 */
#ifndef GPUBPF_SASS_BODY_H
#define GPUBPF_SASS_BODY_H

#include "given.h"
#include "probe.h"

struct gpubpf_diag;

struct sass_body {
	struct sass_insn *insns;   /* malloc'd; those that read what the place gives, of 32 bits each, are not moves yet */
	uint32_t n;
	uint32_t regs, frame;      /* as a probe's */
	uint32_t given;            /* which it reads, as bits */
	bool predicates;           /* it writes some */
	uint8_t meant;             /* what it does is under this predicate, and no other instruction of it writes it */
	bool ends;                 /* lanes may end early: that is always so */
	bool wanders;              /* it has branches: lanes that are not meant go around it, and all meet behind it */
	unsigned left;             /* scoreboards by which what it leaves in flight tells that it is done */
};

/* Out of a probe. Where places are under a predicate (guarded) who puts it in sets `meant` first; else, and where it wanders, it is
 * SASS_PT, unless lanes may end early. -EINVAL and what it cannot have; -ENOMEM. */
int sass_body_make(const struct sass_arch *arch, const struct sass_probe *probe, bool guarded, struct sass_body *body,
		   struct gpubpf_diag *diag);
void sass_body_finish(struct sass_body *body);

/* Does the instruction do what others see, or what can fault: memory that is not the lane's own? */
bool sass_has_effect(struct sass_insn insn);
/* Is it of lanes that part: a branch, or what they meet by? */
bool sass_wanders(struct sass_insn insn);
/* Is it carried out whatever other lanes do, and goes on to the next? */
bool sass_stands_alone(struct sass_insn insn);

#endif
