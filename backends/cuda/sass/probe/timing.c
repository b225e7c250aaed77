/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapts control bits to a changed line.
 *
 * Does:     extends stalls and adds waits for the new latency of a line.
 * Before:   the line is demoted.
 * After:    every instruction that reads or writes the result of the line waits for it.
 * Requires: the latencies of integer units are the same on all architectures.
 */
#include "work.h"

bool sass_work_touches(struct sass_insn insn, const struct sass_operand *result)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = sass_operand(form, insn, o);

		if (x.n && x.reg < result->reg + result->n && result->reg < x.reg + x.n)
			return true;
	}
	return false;
}

/* Does straight-line code end here, so that the next instruction is unknown? */
static bool ends_straight_code(const struct line *line)
{
	enum sass_class class = sass_op_find(sass_opcode(line->insn))->class;

	return class == SASS_BRANCH || class == SASS_EXIT || class == SASS_SYNC;
}

/* Returns the next line after i that is not dropped; w->n or more at the end. */
static uint32_t next_line(const struct work *w, uint32_t i)
{
	do
		i++;
	while (i < w->n && w->lines[i].dropped);
	return i;
}

static void add_wait_bit(struct line *line, unsigned board)
{
	line->insn = sass_with_field(line->insn, SASS_WAIT_AT, 6, sass_wait_mask(line->insn) | 1u << board);
}

/* Does the instruction write a register that `reader` reads? */
static bool overwrites(struct sass_insn insn, struct sass_insn reader)
{
	const struct sass_form *form = sass_form_find(sass_opcode(reader));
	struct sass_operand result = sass_operand(sass_form_find(sass_opcode(insn)), insn, 0);

	for (unsigned o = 1; result.n && o < SASS_OPERANDS; o++) {
		struct sass_operand x = sass_operand(form, reader, o);

		if (x.n && x.reg < result.reg + result.n && result.reg < x.reg + x.n)
			return true;
	}
	return false;
}

/* Adds a scoreboard to line i if it has none, and a wait for it at the next line that uses the result, overwrites a
 * source, or ends straight-line code. The wait covers sources too: a slow instruction reads per-lane registers after
 * issue, unlike the uniform datapath. */
static void add_wait(struct work *w, uint32_t i, const struct sass_operand *result)
{
	unsigned board = sass_write_board(w->lines[i].insn);
	uint32_t j = next_line(w, i);

	if (board == SASS_NO_SCOREBOARD)
		board = w->board;
	w->lines[i].insn = sass_with_field(w->lines[i].insn, SASS_WRITE_AT, 3, board);
	while (j < w->n && !sass_work_touches(w->lines[j].insn, result) &&
	       !overwrites(w->lines[j].insn, w->lines[i].insn) && !ends_straight_code(&w->lines[j]) &&
	       !w->lines[j].is_target)
		j = next_line(w, j);
	if (j < w->n)
		add_wait_bit(&w->lines[j], board);
}

/* Makes the line stall for at least `stall` cycles. */
static void extend_stall(struct line *line, unsigned stall)
{
	if (sass_min_cycles(line->insn) >= stall)
		return;
	line->insn = sass_with_field(line->insn, SASS_STALL_AT, 4, stall > SASS_STALL_MAX ? SASS_STALL_MAX : stall);
	line->insn = sass_with_field(line->insn, SASS_YIELD_AT, 1, 0);
}

/* Extends the stall of the line before the first use of the result by the rest of the latency. */
static void add_time(struct work *w, uint32_t i, const struct sass_operand *result, unsigned latency)
{
	unsigned passed = sass_min_cycles(w->lines[i].insn), before;
	uint32_t last = i, j = next_line(w, i);

	while (j < w->n && passed < latency && !sass_work_touches(w->lines[j].insn, result) &&
	       !ends_straight_code(&w->lines[j]) && !w->lines[j].is_target) {
		passed += sass_min_cycles(w->lines[j].insn);
		last = j;
		j = next_line(w, j);
	}
	before = sass_stall(w->lines[last].insn);
	if (passed < latency)
		extend_stall(&w->lines[last], before + latency - passed);
}

/* Is the predicate that this IADD3 writes used only as carry-in of another IADD3? A carry can be read sooner than a
 * guard. */
static bool is_carry(const struct work *w, uint32_t i)
{
	uint32_t carry = sass_field(w->lines[i].insn, 81, 3), j = next_line(w, i);

	if ((sass_opcode(w->lines[i].insn) & 0x1ff) != 0x010)
		return false;
	while (j < w->n && !ends_straight_code(&w->lines[j]) && !w->lines[j].is_target &&
	       !((sass_predicates_read(w->lines[j].insn) | sass_predicates_written(w->lines[j].insn)) >> carry & 1))
		j = next_line(w, j);
	return j < w->n && (sass_opcode(w->lines[j].insn) & 0x1ff) == 0x010 &&
	       sass_field(w->lines[j].insn, 12, 3) != carry;
}

/* Returns the last line before i that is not dropped; SASS_NONE: there is none. */
static uint32_t prev_line(const struct work *w, uint32_t i)
{
	while (i && w->lines[i - 1].dropped)
		i--;
	return i ? i - 1 : SASS_NONE;
}

void sass_work_update_latency(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand result = sass_operand(form, insn, 0);
	uint32_t operation = sass_opcode(insn) & 0x1ff, before = prev_line(w, i);

	if (w->lines[i].changed_unit && before != SASS_NONE)
		extend_stall(&w->lines[before], sass_stall(w->lines[before].insn) + 1);
	if (sass_is_slow(insn)) {
		if (result.n)
			add_wait(w, i, &result);
		return;
	}
	if (result.n)
		add_time(w, i, &result, operation == 0x006 ? SASS_VOTE_CYCLES : LATENCY);
	if (sass_predicates_written(insn))
		extend_stall(&w->lines[i], is_carry(w, i) ? LATENCY : sass_predicate_cycles(insn));
}

/* Drops a line. The next line takes over its waits. The line before takes over its stall, up to the longest stall of
 * one line, which exceeds every fixed latency in a probe. */
void sass_work_drop(struct work *w, uint32_t i)
{
	unsigned waits = sass_wait_mask(w->lines[i].insn), stall = sass_stall(w->lines[i].insn);
	uint32_t next = next_line(w, i), before = prev_line(w, i);

	w->lines[i].dropped = true;
	if (next < w->n)
		w->lines[next].insn = sass_with_field(w->lines[next].insn, SASS_WAIT_AT, 6,
						      sass_wait_mask(w->lines[next].insn) | waits);
	if (before != SASS_NONE)
		extend_stall(&w->lines[before], sass_stall(w->lines[before].insn) + stall);
}
