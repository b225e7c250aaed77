/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes as an assembler of NVIDIA's made them, turned into code that can stand where other lanes of its warp are still
 * at work: it writes no uniform register and no uniform predicate, since those are the whole warp's.
 */
#ifndef GPUBPF_SASS_PROBE_H
#define GPUBPF_SASS_PROBE_H

#include "cubin.h"
#include "form.h"

struct gpubpf_diag;

struct sass_probe {
	struct sass_insn *insns;   /* malloc'd; ends at EXITs; branches are relative */
	uint32_t n;
	uint32_t regs;             /* R0 to the highest that it touches, counted */
	uint32_t frame;            /* bytes of stack */
	uint32_t barriers;         /* convergence barriers B0 to the highest, counted */
	bool diverges;             /* lanes may leave it one by one */
	bool predicates;           /* it writes some */
};

/* The kernel called name in a cubin of probes. -EINVAL and what is not understood of it; -ENOMEM. */
int sass_probe_read(const struct sass_cubin *probes, const char *name, struct sass_probe *probe,
		    struct gpubpf_diag *diag);
void sass_probe_finish(struct sass_probe *probe);
/* What it uses, anew, of its instructions. */
void sass_probe_note(struct sass_probe *probe);

/* Whether the instruction has to do with the uniform datapath. */
bool sass_is_uniform(struct sass_insn insn);
/* Whether it has a relative target. */
bool sass_has_target(struct sass_insn insn);

#endif
