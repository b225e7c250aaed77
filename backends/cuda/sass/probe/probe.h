/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads probes from the output of NVIDIA's assembler and makes them safe to run while other lanes of the warp run other
 * code. The result writes no uniform register and no uniform predicate, because the lanes of a warp share these.
 *
 * Does:     replaces uniform operations by per-lane operations (demotion), then schedules the probe and reduces its
 *           registers.
 * Before:   sass_cubin_open() has opened the cubin of probes.
 * After:    the probe is relocatable: its branches are relative, and each path ends at an EXIT.
 * Requires: instructions whose forms backends/cuda/sass/isa/isa.def lists; no calls.
 */
#ifndef GPUBPF_SASS_PROBE_H
#define GPUBPF_SASS_PROBE_H

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/effects.h"
#include "backends/cuda/sass/isa/form.h"

struct gpubpf_diag;
struct gpubpf_lower_job;

struct sass_probe {
	struct sass_insn *insns; /* malloc'd; each path ends at an EXIT, and branches are relative */
	uint32_t n;
	uint32_t regs;     /* number of registers from R0 to the highest that the probe uses */
	uint32_t frame;    /* size of the stack in bytes */
	uint32_t barriers; /* number of convergence barriers from B0 to the highest that the probe uses */
	bool diverges;     /* lanes may diverge in the probe: it has branches, BSSY or a conditional EXIT */
	bool predicates;   /* the probe writes predicates */
};

/* Reads the kernel called `name` from a cubin of probes. Returns 0, -ENOMEM, or -EINVAL with the unsupported
 * instruction or feature in *diag. After success the caller calls sass_probe_finish(). job: receives the code after a
 * pass, if its dump wants it. */
int sass_probe_read(const struct sass_cubin *probes, const char *name, const struct gpubpf_lower_job *job,
		    struct sass_probe *probe, struct gpubpf_diag *diag);
void sass_probe_finish(struct sass_probe *probe);
/* Recomputes regs, barriers, diverges and predicates from the instructions. */
void sass_probe_update_usage(struct sass_probe *probe);

#endif
