/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks that the exit probe waits for the kernel's operations in flight before it writes a register or a
 * predicate of the kernel.
 */
#include "work.h"

#include "backends/cuda/sass/analysis/live.h"

#define ALL_BOARDS 0x3f
#define MAX_FIXED_CYCLES 45        /* cycles after which every fixed-latency result is ready */
#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */

/* Returns the index of the first instruction from `from` on that writes a predicate that the kernel may also write;
 * `to` if there is none. */
static uint32_t find_predicate_write(const struct checked *c, uint32_t from, uint32_t to)
{
	unsigned used = sass_predicates_used(c->code);

	while (from < to && !(sass_predicates_written(insn_at(c, from)) & used))
		from++;
	return from;
}

/* Returns the minimum number of cycles from the kernel's last instruction to instruction `at` of the exit probe. */
static unsigned count_cycles_until(const struct checked *c, uint32_t at)
{
	unsigned time = c->first_added == c->code->tail ? 0 : MIN_BRANCH_CYCLES;

	for (uint32_t i = c->exit; i < at; i++)
		time += sass_min_cycles(insn_at(c, i));
	return time;
}

/* Do the NOPs at the start of the exit probe stall until every fixed-latency result of the kernel is ready? */
static bool stalls_for_results(const struct checked *c)
{
	unsigned time = 0;

	for (uint32_t i = c->exit; i < c->first_stub && sass_opcode(insn_at(c, i)) == SASS_OP_NOP; i++)
		time += sass_stall(insn_at(c, i));
	return time >= MAX_FIXED_CYCLES;
}

/* Returns true if the exit probe waits for all scoreboards. The wait must come late enough after the kernel's last
 * instruction to see the scoreboard of that instruction. */
static bool waits_for_all(const struct checked *c)
{
	struct sass_insn first = insn_at(c, c->exit), waits = insn_at(c, sass_check_wait_index(c));

	if (sass_check_wait_index(c) != c->exit &&
	    (sass_opcode(first) != SASS_OP_NOP || sass_stall(first) < SASS_SCOREBOARD_CYCLES))
		return false;
	return sass_wait_mask(waits) == ALL_BOARDS;
}

int sass_check_exit(struct checked *c)
{
	uint32_t low, top, end = c->entry != SASS_NONE && c->entry > c->exit ? c->entry : c->first_stub, writes;
	int err;

	if (c->exit == SASS_NONE)
		return 0;
	if (c->first_added == c->code->tail &&
	    sass_wait_mask(sass_code_at(c->code, c->first_added)) &
		    ~(sass_wait_mask(insn_at(c, c->exit)) | sass_wait_mask(insn_at(c, sass_check_wait_index(c)))))
		return sass_check_fail(c, c->exit, "the last exit does not wait as it did in the kernel");
	sass_check_find_reg_span(c, c->exit, end, &low, &top);
	if (low < c->regs && (!waits_for_all(c) || !stalls_for_results(c)))
		return sass_check_fail(c, c->exit,
				       "an exit's probe does not wait for the kernel's operations in "
				       "flight");
	writes = find_predicate_write(c, c->exit, end);
	if (writes == end)
		return 0;
	err = sass_check_predicate_boards(c);
	if (err < 0)
		return err;
	if (low >= c->regs && c->code->slow_predicates && !waits_for_all(c))
		return sass_check_fail(c, c->exit, "the kernel may write a predicate after an exit's probe began");
	if (count_cycles_until(c, writes) < SASS_PREDICATE_CYCLES)
		return sass_check_fail(c, writes, "an exit's probe writes a predicate too soon after the kernel");
	return 0;
}
