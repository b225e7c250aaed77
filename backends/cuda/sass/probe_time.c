/* SPDX-License-Identifier: Apache-2.0 */
/* What was made otherwise takes another time: control bits of what stands around it. */
#include "probe_work.h"

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

/* Where straight code ends, nobody knows what comes next. */
static bool leaves(const struct line *line)
{
	enum sass_class class = sass_op_find(sass_opcode(line->insn))->class;

	return class == SASS_BRANCH || class == SASS_EXIT || class == SASS_SYNC;
}

uint32_t sass_work_next(const struct work *w, uint32_t i)
{
	do
		i++;
	while (i < w->n && w->lines[i].dropped);
	return i;
}

static void wait_in(struct line *line, unsigned board)
{
	line->insn = sass_with(line->insn, SASS_WAIT_AT, 6, sass_waits(line->insn) | 1u << board);
}

/* Does the instruction write what another reads? */
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

/* What works slowly reads its registers late, too, which the uniform datapath does not. Whoever touches the result,
 * writes what is read, or ends straight code, waits for it. */
static void add_wait(struct work *w, uint32_t i, const struct sass_operand *result)
{
	unsigned board = sass_write_board(w->lines[i].insn);
	uint32_t j = sass_work_next(w, i);

	if (board == SASS_NO_SCOREBOARD)
		board = w->board;
	w->lines[i].insn = sass_with(w->lines[i].insn, SASS_WRITE_AT, 3, board);
	while (j < w->n && !sass_work_touches(w->lines[j].insn, result) && !overwrites(w->lines[j].insn, w->lines[i].insn) &&
	       !leaves(&w->lines[j]) && !w->lines[j].entered)
		j = sass_work_next(w, j);
	if (j < w->n)
		wait_in(&w->lines[j], board);
}

void sass_work_stall(struct line *line, unsigned stall)
{
	if (sass_passes(line->insn) >= stall)
		return;
	line->insn = sass_with(line->insn, SASS_STALL_AT, 4, stall > SASS_STALL_MAX ? SASS_STALL_MAX : stall);
	line->insn = sass_with(line->insn, SASS_YIELD_AT, 1, 0);
}

/* The line before whoever touches the result lets pass what is left of the time. */
static void add_time(struct work *w, uint32_t i, const struct sass_operand *result, unsigned latency)
{
	unsigned passed = sass_passes(w->lines[i].insn), before;
	uint32_t last = i, j = sass_work_next(w, i);

	while (j < w->n && passed < latency && !sass_work_touches(w->lines[j].insn, result) && !leaves(&w->lines[j]) &&
	       !w->lines[j].entered) {
		passed += sass_passes(w->lines[j].insn);
		last = j;
		j = sass_work_next(w, j);
	}
	before = sass_stall(w->lines[last].insn);
	if (passed < latency)
		sass_work_stall(&w->lines[last], before + latency - passed);
}

/* Whether the predicate that a sum writes is the carry of another, which comes faster than to who is guarded by it. */
static bool carries(const struct work *w, uint32_t i)
{
	uint32_t carry = sass_field(w->lines[i].insn, 81, 3), j = sass_work_next(w, i);

	if ((sass_opcode(w->lines[i].insn) & 0x1ff) != 0x010)
		return false;
	while (j < w->n && !leaves(&w->lines[j]) && !w->lines[j].entered &&
	       !((sass_predicates_read(w->lines[j].insn) | sass_predicates_written(w->lines[j].insn)) >> carry & 1))
		j = sass_work_next(w, j);
	return j < w->n && (sass_opcode(w->lines[j].insn) & 0x1ff) == 0x010 &&
	       sass_field(w->lines[j].insn, 12, 3) != carry;
}

/* The one before it that stays. */
static uint32_t last_line(const struct work *w, uint32_t i)
{
	while (i && w->lines[i - 1].dropped)
		i--;
	return i ? i - 1 : SASS_NONE;
}

void sass_work_time(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand result = sass_operand(form, insn, 0);
	uint32_t operation = sass_opcode(insn) & 0x1ff, before = last_line(w, i);

	if (w->lines[i].moved && before != SASS_NONE)
		sass_work_stall(&w->lines[before], sass_stall(w->lines[before].insn) + 1);
	if (sass_is_slow(insn)) {
		if (result.n)
			add_wait(w, i, &result);
		return;
	}
	if (result.n)
		add_time(w, i, &result, operation == 0x006 ? SASS_VOTE_TIME : LATENCY);
	if (sass_predicates_written(insn))
		sass_work_stall(&w->lines[i], carries(w, i) ? LATENCY : sass_predicate_time(insn));
}

/* What a line that goes has waited for, the next one waits for; the time that it took passes before it, up to the most
 * that one line can let pass, which is longer than any result of a probe's with a known time takes. */
void sass_work_drop(struct work *w, uint32_t i)
{
	unsigned waits = sass_waits(w->lines[i].insn), stall = sass_stall(w->lines[i].insn);
	uint32_t next = sass_work_next(w, i), before = last_line(w, i);

	w->lines[i].dropped = true;
	if (next < w->n)
		w->lines[next].insn = sass_with(w->lines[next].insn, SASS_WAIT_AT, 6,
						sass_waits(w->lines[next].insn) | waits);
	if (before != SASS_NONE)
		sass_work_stall(&w->lines[before], sass_stall(w->lines[before].insn) + stall);
}
