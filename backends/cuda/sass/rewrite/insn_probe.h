/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of single instructions. The instruction becomes a branch, which all lanes that reach it take, to a stub after
 * the code. The stub loads the place's values into registers above the kernel's. It executes the instruction unchanged,
 * before or after the bodies, and branches back. Bodies write only registers above the kernel's, preserve predicates,
 * and write nothing uniform. If a body has branches, the lanes that entered it together reconverge after it.
 *
 * Does:     replaces each instruction with probes by a branch and appends its stub.
 * Before:   `out` holds the kernel's code, with the probes of the entry and the exits.
 * After:    out->stands[] says where each instruction now executes.
 * Requires: bodies of sass_body_make() and registers of sass_alloc_regs_above().
 */
#ifndef GPUBPF_SASS_INSN_PROBE_H
#define GPUBPF_SASS_INSN_PROBE_H

#include "backends/cuda/sass/probe/body.h"
#include "backends/cuda/sass/analysis/places.h"

struct gpubpf_diag;
struct sass_patched_code;

/* a body at a place */
struct sass_insn_probe {
	struct sass_place place;
	uint32_t line;
	const struct sass_body *body;
};

struct sass_insn_probes {
	struct sass_insn_probe *list;  /* malloc'd by the caller, sorted by instruction, then by kind */
	uint32_t n;
};

/* Does the place count only some of the lanes that reach it? */
static inline bool sass_insn_probe_is_guarded(const struct sass_place *place)
{
	return place->guard != SASS_PT || place->second != SASS_PT;
}

/* Registers that the bodies need above the kernel's; 0 if there are no bodies. */
uint32_t sass_insn_probes_regs(const struct sass_insn_probes *around, const struct sass_code *code);
/* Scoreboards that guard the work that bodies leave in flight. */
static inline unsigned sass_insn_probes_pending(const struct sass_insn_probes *around)
{
	unsigned left = 0;

	for (uint32_t i = 0; i < around->n; i++)
		left |= around->list[i].body->left;
	return left;
}

/* Upper bound of the instructions of all stubs. */
size_t sass_insn_probes_max_insns(const struct sass_insn_probes *around);
/* Appends the stubs to `out`. Each waits for the scoreboards in `left` first. -EINVAL and the reason. */
int sass_emit_insn_probes(const struct sass_insn_probes *around, const struct sass_code *code, unsigned left, struct sass_patched_code *out,
		    struct gpubpf_diag *diag);

#endif
