/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves data flow over a control-flow graph. All analyses of machine code use this solver; each brings a state, a
 * transfer function and a merge function.
 *
 * Does:     passes states through blocks and merges them into neighbours, until no state changes.
 * Before:   sass_cfg_build() has built the graph. The caller has set the states at the entries.
 * After:    states[] has the state at the begin of each block. For backward flow, it has the state at the end.
 * Requires: merge() is monotone, so that the solver ends.
 */
#ifndef GPUBPF_SASS_DATAFLOW_H
#define GPUBPF_SASS_DATAFLOW_H

#include "cfg.h"

struct sass_dataflow {
	const struct sass_cfg *cfg;
	bool backward; /* states flow from a block to its predecessors */
	size_t size;   /* size of a state in bytes */
	/* Changes *state as the instructions of the block do. */
	void (*transfer)(void *arg, uint32_t block, void *state);
	/* Merges *from into *to, the state of the block. Returns true if *to changed. */
	bool (*merge)(void *arg, uint32_t block, void *to, const void *from);
	void *arg; /* first argument of both functions */
};

/* Solves the flow. states: one state per block. Visits each block at least once. Returns 0 or -ENOMEM. */
int sass_dataflow_solve(const struct sass_dataflow *flow, void *states);

#endif
