/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warp-wide operation names its participating lanes in a mask, and BRA.DIV tests whether these lanes are converged.
 * BRA.DIV reads the mask from a uniform register, so compilers OR the lanes' masks (REDUX.OR), and skip the test where
 * the masks differ (R2UR P, URZ, R). Here each lane tests with its own mask instead: participants have equal masks. The
 * test is safe in all cases, because lanes that are not converged branch to code in which they wait for each other.
 *
 * Does:     replaces that REDUX.OR or R2UR by code that leaves each lane a separate mask.
 * Before:   the lines of the probe are open, with targets.
 * After:    BRA.DIV tests a mask of the lane; the line no longer exchanges data between lanes.
 * Requires: nothing; a line whose result is also read by other instructions stays unchanged.
 */
#include <errno.h>
#include <stdlib.h>

#include "work.h"

#define REST ((1ull << (SASS_STALL_AT - 64)) - 1)
#define REDUX_OR 0x4000ull
#define R2UR_REST 0xe0000ull
#define PLOP3_FALSE 0x03f0e170ull

struct use_walk {
	const struct work *w;
	uint32_t *next, nnext; /* worklist of lines */
	bool *seen;
	uint32_t reg, predicate; /* the uniform register or predicate to follow; UINT32_MAX: none */
};

static bool reads_register(const struct use_walk *k, struct sass_insn insn, const struct sass_form *form)
{
	for (unsigned o = 1; o < SASS_OPERANDS; o++) {
		struct sass_operand x = sass_operand(form, insn, o);

		if (x.n && x.uniform && x.reg <= k->reg && k->reg < (uint32_t)x.reg + x.n)
			return true;
	}
	return false;
}

static bool reads(const struct use_walk *k, struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));

	if (k->predicate != UINT32_MAX)
		return sass_predicates_read(insn) >> k->predicate & 1;
	return form && reads_register(k, insn, form);
}

static bool is_divergence_test(const struct use_walk *k, struct sass_insn insn)
{
	if (!sass_is_bra_div(insn))
		return false;
	return k->predicate == UINT32_MAX || sass_field(insn, 12, 4) == (k->predicate | 8);
}

static bool writes(const struct use_walk *k, struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand x = { 0 };

	if (sass_field(insn, 12, 4) != SASS_PT || !form)
		return false;
	if (k->predicate != UINT32_MAX)
		return sass_predicates_written(insn) >> k->predicate & 1;
	x = sass_operand(form, insn, 0);
	return x.n && x.uniform && x.reg <= k->reg && k->reg < (uint32_t)x.reg + x.n;
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
	const struct line *line = &k->w->lines[i];
	uint32_t opcode = sass_opcode(line->insn);

	if (sass_work_branch_successor(k->w, i) != SASS_NONE)
		push(k, sass_work_branch_successor(k->w, i));
	for (uint32_t e = 0; e < sass_work_count_targets(k->w, i); e++)
		push(k, sass_work_get_target(k->w, i, e));
	if (!sass_is_unconditional(line->insn) || (opcode != SASS_OP_BRA && opcode != SASS_OP_EXIT) ||
	    sass_is_bra_div(line->insn))
		push(k, i + 1);
}

/* Is BRA.DIV the only reader of the value, on every path from line i to the next write? */
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

/* Returns the replacement: R2UR for REDUX.OR; for R2UR with a predicate, a PLOP3 that writes false. */
static struct sass_insn to_lane_mask(struct sass_insn insn)
{
	bool mask = sass_opcode(insn) == SASS_OP_REDUX;
	struct sass_insn alone = { (mask ? insn.lo & ~0xfffull : 0) | (mask ? SASS_OP_R2UR : SASS_OP_PLOP3) |
					   (insn.lo & 0xf000),
				   (insn.hi & ~REST) | (mask ? R2UR_REST : PLOP3_FALSE) };

	return mask ? alone : sass_with_field(alone, 81, 3, sass_field(insn, 81, 3));
}

int sass_work_split_mask(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	bool mask = sass_opcode(insn) == SASS_OP_REDUX && (insn.hi & REST) == REDUX_OR;
	bool differ = sass_opcode(insn) == SASS_OP_R2UR && sass_field(insn, 81, 3) != SASS_PT &&
		      sass_field(insn, 16, 6) == SASS_URZ;
	struct use_walk k = { .w = w,
			      .reg = mask ? sass_field(insn, 16, 6) : UINT32_MAX,
			      .predicate = differ ? sass_field(insn, 81, 3) : UINT32_MAX };

	if (!mask && !differ)
		return 0;
	k.seen = calloc(w->n + 1, sizeof(*k.seen));
	k.next = calloc(w->n + 1, sizeof(*k.next));
	if (k.seen && k.next && is_only_tested(&k, i)) {
		w->lines[i].insn = to_lane_mask(insn);
		w->lines[i].demoted = true;
	}
	free(k.next);
	free(k.seen);
	return k.seen && k.next ? 0 : -ENOMEM;
}
