/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapts control bits to a changed line.
 *
 * Does:     extends stalls and adds waits for the new latency of a line.
 * Before:   the line is demoted: its uniform operation has become a per-lane operation.
 * After:    every instruction that reads or writes the result of the line waits for the result.
 * Requires: the latencies of integer units are the same on all architectures.
 */
#include "work.h"

/* Does straight-line code end at this line, so that the next instruction is unknown? */
static bool ends_straight_code(const struct line *line)
{
	enum sass_class class = sass_op(line->insn)->class;

	return class == SASS_BRANCH || class == SASS_EXIT || class == SASS_SYNC;
}

/* Returns the index of the next line after i that is not dropped; w->n or more if there is none. */
static uint32_t find_next_line(const struct work *w, uint32_t i)
{
	do
		i++;
	while (i < w->n && w->lines[i].dropped);
	return i;
}

static void add_wait_bit(struct line *line, unsigned board)
{
	line->insn = sass_with_waits(line->insn, sass_wait_mask(line->insn) | 1u << board);
}

/* Adds a wait for the scoreboard of line i at the next line that uses the result, overwrites a source, or ends
 * straight-line code. If line i sets no scoreboard, adds one. The wait covers the sources too. Unlike the uniform
 * datapath, a slow instruction reads per-lane registers after issue. */
static void add_wait(struct work *w, uint32_t i, const struct sass_operand *result)
{
	unsigned board = sass_write_board(w->lines[i].insn);
	uint32_t j = find_next_line(w, i);

	if (board == SASS_NO_SCOREBOARD)
		board = w->board;
	w->lines[i].insn = sass_with_write_board(w->lines[i].insn, board);
	while (j < w->n && !sass_uses(w->lines[j].insn, result, SASS_USES) &&
	       !sass_uses(w->lines[i].insn, &w->lines[j].insn.operand[0], SASS_READS) &&
	       !ends_straight_code(&w->lines[j]) && !w->lines[j].is_target)
		j = find_next_line(w, j);
	if (j < w->n)
		add_wait_bit(&w->lines[j], board);
}

/* Makes the line stall for at least `stall` cycles. */
static void extend_stall(struct line *line, unsigned stall)
{
	if (sass_min_cycles(line->insn) >= stall)
		return;
	line->insn = sass_with_stall(line->insn, stall > SASS_STALL_MAX ? SASS_STALL_MAX : stall);
	line->insn = sass_with_yield(line->insn, 0);
}

/* Makes sure that the latency has passed at the first use of the result. To do so, extends the stall of the line
 * before that use. */
static void add_time(struct work *w, uint32_t i, const struct sass_operand *result, unsigned latency)
{
	unsigned passed = sass_min_cycles(w->lines[i].insn), before;
	uint32_t last = i, j = find_next_line(w, i);

	while (j < w->n && passed < latency && !sass_uses(w->lines[j].insn, result, SASS_USES) &&
	       !ends_straight_code(&w->lines[j]) && !w->lines[j].is_target) {
		passed += sass_min_cycles(w->lines[j].insn);
		last = j;
		j = find_next_line(w, j);
	}
	before = sass_stall(w->lines[last].insn);
	if (passed < latency)
		extend_stall(&w->lines[last], before + latency - passed);
}

/* Is the predicate that this IADD3 writes used only as carry-in of another IADD3? A carry-in can be read sooner than
 * a guard. */
static bool is_carry(const struct work *w, uint32_t i)
{
	uint32_t carry = w->lines[i].insn.out, j = find_next_line(w, i);

	if (!sass_is(w->lines[i].insn, SASS_OPERATION_IADD3))
		return false;
	while (j < w->n && !ends_straight_code(&w->lines[j]) && !w->lines[j].is_target &&
	       !((sass_predicates_read(w->lines[j].insn) | sass_predicates_written(w->lines[j].insn)) >> carry & 1))
		j = find_next_line(w, j);
	return j < w->n && sass_is(w->lines[j].insn, SASS_OPERATION_IADD3) && (w->lines[j].insn.guard & SASS_PT) != carry;
}

/* Returns the last line before i that is not dropped; SASS_NONE: there is none. */
static uint32_t find_previous_line(const struct work *w, uint32_t i)
{
	while (i && w->lines[i - 1].dropped)
		i--;
	return i ? i - 1 : SASS_NONE;
}

void sass_work_update_latency(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	struct sass_operand result = insn.operand[0];
	uint32_t before = find_previous_line(w, i);

	if (w->lines[i].changed_unit && before != SASS_NONE)
		extend_stall(&w->lines[before], sass_stall(w->lines[before].insn) + 1);
	if (sass_is_slow(insn)) {
		if (result.n)
			add_wait(w, i, &result);
		return;
	}
	if (result.n)
		add_time(w, i, &result, sass_is(insn, SASS_OPERATION_VOTE) ? SASS_VOTE_CYCLES : LATENCY);
	if (sass_predicates_written(insn))
		extend_stall(&w->lines[i], is_carry(w, i) ? LATENCY : sass_predicate_cycles(insn));
}

/* Drops a line. The next line takes over its waits. The line before takes over its stall, up to the longest stall of
 * one line. That stall exceeds every fixed latency in a probe. */
void sass_work_drop(struct work *w, uint32_t i)
{
	unsigned waits = sass_wait_mask(w->lines[i].insn), stall = sass_stall(w->lines[i].insn);
	uint32_t next = find_next_line(w, i), before = find_previous_line(w, i);

	w->lines[i].dropped = true;
	if (next < w->n)
		w->lines[next].insn = sass_with_waits(w->lines[next].insn, sass_wait_mask(w->lines[next].insn) | waits);
	if (before != SASS_NONE)
		extend_stall(&w->lines[before], sass_stall(w->lines[before].insn) + stall);
}
