/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the control-flow graph of a kernel or of a probe.
 *
 * Does:     splits code into basic blocks and lists their edges; finds dominators and loops.
 * Before:   the instructions are decoded, and the caller has added the edges that it knows.
 * After:    each instruction belongs to one block. Control enters a block only at its first instruction and leaves it
 *           only after its last instruction.
 * Requires: nothing. A jump with unknown targets has no edges, so the caller must handle such jumps.
 */
#ifndef GPUBPF_SASS_CFG_H
#define GPUBPF_SASS_CFG_H

#include <stdio.h>

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/effects.h"

struct sass_block {
	uint32_t begin, end;  /* range of the instructions: from begin to end - 1 */
	uint32_t succ, nsucc; /* successors: cfg->succ[succ] to cfg->succ[succ + nsucc - 1] */
	uint32_t pred, npred; /* predecessors: cfg->pred[pred] to cfg->pred[pred + npred - 1] */
	uint32_t order;       /* position of the block in cfg->rpo */
	uint32_t idom;        /* immediate dominator; SASS_NONE for an entry */
	uint32_t loop, depth; /* header of the innermost loop, or SASS_NONE; number of enclosing loops */
};

struct sass_cfg {
	uint32_t ninsns, nblocks;
	struct sass_block *blocks; /* malloc'd, in the order of the code; the arrays below are malloc'd too */
	uint32_t *succ, *pred;
	uint32_t *block_of; /* block_of[i]: index of the block of instruction i */
	uint32_t *rpo;      /* indices of the blocks in reverse postorder; an unreachable block counts as an entry */
	bool irreducible;   /* the code has a loop with several entries; `depth` does not count such a loop */
	bool unknown;       /* some jumps have unknown targets; code_cfg.c sets this member */
	/* The members below are used only while edges are added. */
	struct sass_edge {
		uint32_t from, to;
	} *edges;
	uint32_t nedges, room;
	bool *ends;  /* ends[i]: control does not fall through instruction i */
	bool failed; /* an allocation has failed */
};

/* Begins the graph of ninsns instructions. After a failed allocation, all functions may still be called, and
 * sass_cfg_build() returns -ENOMEM. */
void sass_cfg_begin(struct sass_cfg *cfg, uint32_t ninsns);
/* Adds an edge from instruction `from` to instruction `to`. Ignores an index `to` outside of the code. */
void sass_cfg_add_edge(struct sass_cfg *cfg, uint32_t from, int64_t to);
/* Records that control does not fall through instruction i. */
void sass_cfg_end_path(struct sass_cfg *cfg, uint32_t i);
/* Builds blocks, edges, dominators and loops. Returns 0 or -ENOMEM. */
int sass_cfg_build(struct sass_cfg *cfg);
void sass_cfg_finish(struct sass_cfg *cfg);

/* Builds the graph of a probe. Each instruction with a target, also BSSY, has an edge to its target. Each
 * instruction falls through, except those for which sass_ends_path() is true. Returns 0 or -ENOMEM. */
int sass_cfg_of_probe(struct sass_cfg *cfg, const struct sass_arch *arch, const struct sass_insn *insns, uint32_t n);

/* Returns true if control never falls through the instruction: an unconditional EXIT, or a BRA that all lanes take.
 * BRA.DIV and BRA.CONV may fall through. So may BRA.U, which has one more predicate. */
bool sass_ends_path(struct sass_insn insn);
/* Returns the index of the instruction that instruction i targets; it may lie outside of the code. Returns -1 if
 * there is no target, or if the target is not the start of an instruction. */
int64_t sass_target_of(const struct sass_arch *arch, const struct sass_insn *insns, uint32_t i);

static inline const struct sass_block *sass_cfg_block(const struct sass_cfg *cfg, uint32_t insn)
{
	return &cfg->blocks[cfg->block_of[insn]];
}

/* Does block a dominate block b? Then every path from an entry to b goes through a. */
bool sass_cfg_dominates(const struct sass_cfg *cfg, uint32_t a, uint32_t b);
/* Prints one line for a block, or for each block: its instructions, immediate dominator, loop, depth and successors. */
void sass_cfg_dump_block(const struct sass_cfg *cfg, uint32_t block, FILE *to);
void sass_cfg_dump(const struct sass_cfg *cfg, FILE *to);

#endif
