/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks the code of the probes at the entry and at the exits.
 *
 * 1. Each added instruction is one that probes may contain, and none uses the uniform datapath.
 * 2. No probe uses a convergence barrier at which lanes of the kernel may wait. In code that each lane runs separately
 *    at an exit, no lane waits for another lane.
 * 3. Branches stay in the code of their probe, except the branch back to the kernel.
 * 4. Probes use only registers that the twin declares.
 */
#include "work.h"

#include "backends/cuda/sass/isa/effects.h"

#define REGCOUNT_EXTRA 3

/* -- instructions -- */

static int check_uniform(struct checked *c)
{
	for (uint32_t i = c->first_added; i < c->first_stub; i++) {
		struct sass_insn insn = insn_at(c, i);

		if (sass_check_is_moved(c, i))
			continue;
		if (!sass_is_probe_insn(c->code->arch, insn) && !sass_is_count_insn(insn))
			return sass_check_fail(c, i, "a probe has an unknown instruction");
		if (sass_is_uniform(insn))
			return sass_check_fail(c, i, "a probe uses the uniform datapath");
	}
	return 0;
}

/* Does instruction i belong to the copy of the exit probe for warps whose lanes are all converged? */
static bool is_warp_code(const struct checked *c, uint32_t i)
{
	return c->lane_code != SASS_NONE && i >= c->exit && i < c->lane_code;
}

/* Does instruction i belong to the copy of the exit probe that each lane runs separately? */
static bool is_lane_code(const struct checked *c, uint32_t i)
{
	return c->lane_code != SASS_NONE && i >= c->lane_code && (c->entry == SASS_NONE || i < c->entry);
}

/* Returns, as bits, the convergence barriers that BREAK instructions at the end of the entry probe release. All
 * lanes execute these instructions, so no lane of the kernel waits at these barriers afterwards. */
static unsigned find_broken_barriers(const struct checked *c)
{
	unsigned left = 0;

	for (uint32_t i = c->entry_copy; c->entry != SASS_NONE && i-- > c->entry;) {
		uint32_t opcode = sass_opcode(insn_at(c, i));

		if (!sass_is_unconditional(insn_at(c, i)) || (opcode != SASS_OP_BREAK && opcode != SASS_OP_WARPSYNC_ALL))
			break;
		left |= opcode == SASS_OP_BREAK ? 1u << sass_convergence_barrier(insn_at(c, i)) : 0;
	}
	return left;
}

static int check_barriers(struct checked *c)
{
	unsigned used = c->code->barriers_used & ~find_broken_barriers(c);

	for (uint32_t i = c->first_added; i < c->first_stub; i++) {
		uint32_t opcode = sass_opcode(insn_at(c, i));
		int barrier = sass_convergence_barrier(insn_at(c, i));

		if (is_lane_code(c, i) &&
		    (opcode == SASS_OP_VOTE || opcode == SASS_OP_MATCH || opcode == SASS_OP_WARPSYNC_ALL))
			return sass_check_fail(c, i, "code for single lanes at an exit has a vote or a reconvergence");
		if (barrier < 0)
			continue;
		if (is_warp_code(c, i))
			continue;
		if (c->entry == SASS_NONE || i < c->entry)
			return sass_check_fail(c, i, "lanes that reach an exit separately use a convergence barrier");
		if (used >> barrier & 1)
			return sass_check_fail(c, i, "a probe uses a convergence barrier of the kernel");
	}
	return 0;
}

static bool falls_through_to(const struct checked *c, uint32_t at)
{
	uint32_t opcode = sass_opcode(insn_at(c, at - 1));

	return !sass_is_unconditional(insn_at(c, at - 1)) || (opcode != SASS_OP_BRA && opcode != SASS_OP_EXIT);
}

static int check_branches(struct checked *c)
{
	bool back = c->entry == SASS_NONE, both = c->entry != SASS_NONE && c->exit != SASS_NONE;

	if (both && (c->entry <= c->exit || falls_through_to(c, c->entry)))
		return sass_check_fail(c, c->entry, "the exit's probe falls through to the entry's");
	if (c->lane_code != SASS_NONE && falls_through_to(c, c->lane_code))
		return sass_check_fail(c, c->lane_code, "code for the whole warp falls through to code for single lanes");

	for (uint32_t i = c->first_added; i < c->first_stub; i++) {
		int64_t to;

		if (sass_check_is_moved(c, i) || !sass_has_target(insn_at(c, i)))
			continue;
		to = sass_check_target(c, i);
		if (i && sass_check_is_moved(c, i - 1) && to == (int64_t)c->entry_branch + 1)
			back = sass_is_unconditional(insn_at(c, i));
		else if (to < c->first_added || to >= c->first_stub || (both && (i < c->entry) != (to < c->entry)))
			return sass_check_fail(c, i, "a probe branches out of its code");
		else if (is_warp_code(c, i) != is_warp_code(c, to) && i != c->convergence_branch)
			return sass_check_fail(c, i,
					       "a branch mixes code for the whole warp and code for single "
					       "lanes");
	}
	return back ? 0 : sass_check_fail(c, c->entry, "the entry's probe does not branch back to the kernel");
}

static int check_registers(struct checked *c)
{
	uint32_t low, top;

	sass_check_find_reg_span(c, c->first_added, c->first_stub, &low, &top);
	if (top && top + REGCOUNT_EXTRA - 1 > c->new_regs)
		return sass_check_fail(c, c->first_added, "probes use more registers than the twin declares");
	if (c->new_regs < c->regs || c->new_regs > SASS_REGS_MAX)
		return sass_check_fail_whole(c, "the twin declares an impossible number of registers");
	if (c->code->maxreg && (top > c->code->maxreg || c->new_regs != c->regs))
		return sass_check_fail(c, c->first_added, "probes use more registers than USETMAXREG leaves");
	return 0;
}

int sass_check_added_insns(struct checked *c)
{
	int err = check_uniform(c);

	if (!err)
		err = check_barriers(c);
	if (!err)
		err = check_branches(c);
	return err ? err : check_registers(c);
}
