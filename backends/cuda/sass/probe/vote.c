/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warp-wide operation names its participating lanes in a mask, and BRA.DIV tests whether these lanes are converged.
 * BRA.DIV reads the mask from a uniform register. So compilers OR the masks of all lanes (REDUX.OR), and skip the test
 * where the masks differ (R2UR P, URZ, R). This file lets each lane test with its own mask instead, because
 * participants have equal masks. The test is safe in all cases, because lanes that are not converged branch to code in
 * which they wait for each other.
 *
 * Does:     replaces that REDUX.OR or R2UR by code that leaves each lane a separate mask.
 * Before:   the lines of the probe are open, with their targets.
 * After:    BRA.DIV tests a mask of the lane; the replaced line no longer exchanges data between lanes.
 * Requires: nothing. A line stays unchanged if other instructions also read its result.
 */
#include <errno.h>
#include <stdlib.h>

#include "work.h"

struct use_walk {
	const struct work *w;
	uint32_t *next, nnext; /* worklist of lines */
	bool *seen;
	struct sass_operand reg; /* the uniform register to follow, if `predicate` is UINT32_MAX */
	uint32_t predicate;      /* the uniform predicate to follow; UINT32_MAX: none */
};

static bool reads(const struct use_walk *k, struct sass_insn insn)
{
	if (k->predicate != UINT32_MAX)
		return sass_predicates_read(insn) >> k->predicate & 1;
	return sass_uses(insn, &k->reg, SASS_READS);
}

static bool is_divergence_test(const struct use_walk *k, struct sass_insn insn)
{
	if (!sass_is_bra_div(insn))
		return false;
	return k->predicate == UINT32_MAX || insn.guard == (k->predicate | 8);
}

static bool writes(const struct use_walk *k, struct sass_insn insn)
{
	if (insn.guard != SASS_PT)
		return false;
	if (k->predicate != UINT32_MAX)
		return sass_predicates_written(insn) >> k->predicate & 1;
	return sass_uses(insn, &k->reg, SASS_WRITES);
}

static void push(struct use_walk *k, uint32_t to)
{
	if (to >= k->w->n || k->seen[to])
		return;
	k->seen[to] = true;
	k->next[k->nnext++] = to;
}

static void push_successors(struct use_walk *k, uint32_t i)
{
	const struct sass_cfg *cfg = &k->w->cfg;
	const struct sass_block *block = sass_cfg_block(cfg, i);

	if (i + 1 < block->end)
		push(k, i + 1);
	for (uint32_t e = 0; i + 1 == block->end && e < block->nsucc; e++)
		push(k, cfg->blocks[cfg->succ[block->succ + e]].begin);
}

/* Is BRA.DIV the only reader of the value? Checks every path from line i to the next write of the value. */
static bool is_only_tested(struct use_walk *k, uint32_t i)
{
	for (push_successors(k, i); k->nnext;) {
		uint32_t at = k->next[--k->nnext];
		struct sass_insn insn = k->w->lines[at].insn;

		if (reads(k, insn) && !is_divergence_test(k, insn))
			return false;
		if (!writes(k, insn))
			push_successors(k, at);
	}
	return true;
}

int sass_work_split_mask(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	bool mask = sass_combines_masks(insn), differ = sass_compares_masks(insn);
	struct use_walk k = { .w = w,
			      .reg = sass_register(insn.operand[0].reg & SASS_URZ, true),
			      .predicate = differ ? insn.out : UINT32_MAX };

	if (!mask && !differ)
		return 0;
	k.seen = calloc(w->n + 1, sizeof(*k.seen));
	k.next = calloc(w->n + 1, sizeof(*k.next));
	if (k.seen && k.next && is_only_tested(&k, i)) {
		w->lines[i].insn = sass_to_lane_mask(insn);
		w->lines[i].demoted = true;
	}
	free(k.next);
	free(k.seen);
	return k.seen && k.next ? 0 : -ENOMEM;
}
