/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads probes from the output of NVIDIA's assembler and makes them safe to run while other lanes of the warp run other
 * code. The result writes no uniform register and no uniform predicate, since these belong to the whole warp.
 *
 * Does:     demotes uniform operations to per-lane registers, then schedules and compacts the probe.
 * Before:   sass_cubin_open() has opened the cubin of probes.
 * After:    the probe is relocatable: it ends at EXITs, and its branches are relative.
 * Requires: instructions whose forms backends/cuda/sass/isa/isa.def lists; no calls.
 */
#ifndef GPUBPF_SASS_PROBE_H
#define GPUBPF_SASS_PROBE_H

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/effects.h"
#include "backends/cuda/sass/isa/form.h"

struct gpubpf_diag;

struct sass_probe {
	struct sass_insn *insns; /* malloc'd; it ends at EXITs, and its branches are relative */
	uint32_t n;
	uint32_t regs;     /* number of registers from R0 to the highest that it uses */
	uint32_t frame;    /* bytes of stack */
	uint32_t barriers; /* number of convergence barriers from B0 to the highest that it uses */
	bool diverges;     /* lanes may diverge in it: it has branches, BSSY or a conditional EXIT */
	bool predicates;   /* it writes predicates */
};

/* Reads the kernel called `name` from a cubin of probes. Returns 0; -EINVAL with the unsupported part in *diag;
 * -ENOMEM. After success the caller calls sass_probe_finish(). */
int sass_probe_read(const struct sass_cubin *probes, const char *name, struct sass_probe *probe, struct gpubpf_diag *diag);
void sass_probe_finish(struct sass_probe *probe);
/* Recomputes regs, barriers, diverges and predicates from the instructions. */
void sass_probe_update_usage(struct sass_probe *probe);

#endif
