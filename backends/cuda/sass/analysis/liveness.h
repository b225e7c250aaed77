/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the registers and predicates that are live before each instruction. They are live if a later instruction may
 * read the value that they have there.
 *
 * Does:     solves backward data flow over the control-flow graph.
 * Before:   sass_cfg_build() has built the graph.
 * After:    each instruction has the set of registers and predicates that are live before it.
 * Requires: instructions whose forms backends/cuda/sass/isa/isa.def lists. Other instructions count as reading and
 *           writing nothing. A write under a guard does not end a live range.
 */
#ifndef GPUBPF_SASS_LIVENESS_H
#define GPUBPF_SASS_LIVENESS_H

#include "backends/cuda/sass/isa/form.h"
#include "cfg.h"

/* Bit numbers in a set: registers from 0, uniform registers from SASS_LIVE_UNIFORM, predicates and uniform
 * predicates from SASS_LIVE_PREDICATES. The word of the predicates has the layout of the result of
 * sass_predicates_read(). */
#define SASS_LIVE_UNIFORM 256
#define SASS_LIVE_PREDICATES 320
#define SASS_LIVE_WORDS 6

struct sass_set {
	uint64_t word[SASS_LIVE_WORDS];
};

static inline bool sass_set_has(const struct sass_set *set, uint32_t bit)
{
	return set->word[bit / 64] >> bit % 64 & 1;
}

static inline unsigned sass_set_predicates(const struct sass_set *set)
{
	return set->word[SASS_LIVE_PREDICATES / 64];
}

/* Instructions that are members of an array of structures. first: the instruction in the first structure. stride:
 * size of a structure in bytes. */
struct sass_insns {
	const struct sass_insn *first;
	size_t stride;
};

static inline const struct sass_insn *sass_insns_at(struct sass_insns insns, uint32_t i)
{
	return (const struct sass_insn *)((const char *)insns.first + i * insns.stride);
}

struct sass_liveness {
	const struct sass_cfg *cfg;
	struct sass_set *in; /* malloc'd: in[i] is the set before instruction i */
	unsigned first;      /* first word of the sets that is computed; the words before it are empty */
};

/* Finds the live sets. If `written_predicates` is true, the sets contain no registers, and only those predicates
 * that some path to the instruction has written. Returns 0 or -ENOMEM. After success the caller calls
 * sass_liveness_finish(). */
int sass_liveness_find(const struct sass_cfg *cfg, struct sass_insns insns, bool written_predicates,
		       struct sass_liveness *live);
void sass_liveness_finish(struct sass_liveness *live);
/* Returns the live set after instruction i. */
struct sass_set sass_live_out(const struct sass_liveness *live, uint32_t i);
/* Prints a line per instruction: the numbers of the registers and predicates that are live before it. */
void sass_liveness_dump(const struct sass_liveness *live, FILE *to);

#endif
