/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes at single instructions. A branch to a stub, which all lanes take, replaces the instruction. The stub
 * loads the values of the place into registers above the kernel's. It executes the bodies of the probes before or after
 * a copy of the instruction, and branches back. Bodies write only registers above the kernel's, preserve predicates,
 * and write no uniform register or predicate. If a body has branches, the lanes that entered it together reconverge
 * after it.
 *
 * Does:     replaces each instruction with probes by a branch and appends its stub.
 * Before:   `out` holds the kernel's code, with the probes of the entry and the exits.
 * After:    out->location[] has, for each replaced instruction, the index of its copy in the stub.
 * Requires: bodies of sass_body_make() and registers of sass_alloc_regs_above().
 */
#ifndef GPUBPF_SASS_INSN_PROBE_H
#define GPUBPF_SASS_INSN_PROBE_H

#include "backends/cuda/sass/probe/body.h"
#include "backends/cuda/sass/analysis/places.h"

struct gpubpf_diag;
struct sass_patched_code;

/* a place, its source line, and the body of the probe there */
struct sass_insn_probe {
	struct sass_place place;
	uint32_t line;
	const struct sass_body *body;
};

struct sass_insn_probes {
	struct sass_insn_probe *list; /* malloc'd by the caller; sorted by instruction, then by kind of place */
	uint32_t n;
};

/* Does the place have predicates? Then its probe runs only for some of the lanes that reach the place. */
static inline bool sass_insn_probe_is_guarded(const struct sass_place *place)
{
	return place->guard != SASS_PT || place->second != SASS_PT;
}

/* Returns the number of registers above the kernel's that the stubs need; 0 if there are no bodies. */
uint32_t sass_insn_probes_regs(const struct sass_insn_probes *insn_probes, const struct sass_code *code);
/* Returns the scoreboards that bodies may leave set, as bits. */
static inline unsigned sass_insn_probes_pending(const struct sass_insn_probes *insn_probes)
{
	unsigned left = 0;

	for (uint32_t i = 0; i < insn_probes->n; i++)
		left |= insn_probes->list[i].body->pending_boards;
	return left;
}

/* Returns an upper bound of the number of instructions of all stubs. */
size_t sass_insn_probes_max_insns(const struct sass_insn_probes *insn_probes);
/* Appends the stubs to `out`. Each stub first waits for the scoreboards in `left` (bits). Returns 0, or -EINVAL with
 * the reason in *diag. */
int sass_emit_insn_probes(const struct sass_insn_probes *insn_probes, const struct sass_code *code, unsigned left,
			  struct sass_patched_code *out, struct gpubpf_diag *diag);

#endif
