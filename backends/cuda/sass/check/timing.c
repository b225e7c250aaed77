/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks that probes respect the latencies that the hardware does not enforce.
 *
 * 1. An instruction waits for a scoreboard at the earliest SASS_SCOREBOARD_CYCLES after the scoreboard was set, because
 *    an earlier wait does not see it.
 * 2. An instruction reads a result of fixed latency only when the result is ready.
 */
#include "work.h"

static int check_seen(struct checked *c)
{
	uint32_t set[SASS_SCOREBOARDS] = { 0 }, now = SASS_SCOREBOARD_CYCLES; /* set[b]: first cycle in which a wait
	                                                                       * sees that scoreboard b is set */

	for (uint32_t i = c->first_added; i < c->ninsns; i++) {
		struct sass_insn insn = insn_at(c, i);

		for (unsigned b = 0; b < SASS_SCOREBOARDS; b++) {
			if (sass_wait_mask(insn) >> b & 1 && now < set[b])
				return sass_check_fail(c, i, "a probe waits for a scoreboard too soon after it was set");
			if (sass_boards_set(insn) >> b & 1)
				set[b] = now + SASS_SCOREBOARD_CYCLES;
		}
		now += sass_min_cycles(insn);
	}
	return 0;
}

/* -- fixed latencies -- */

/* Minimum numbers of cycles until a predicate can be used as a guard, and until a result can be read. They are the
 * smallest numbers that occur in the code of compilers. */
#define MIN_GUARD_CYCLES 12
#define MIN_RESULT_CYCLES 4
#define WIDE_HALF_CYCLES 2         /* IMAD.WIDE writes its low half 2 cycles earlier and reads its high half 2 cycles
                                    * later than other instructions */

static unsigned wide_half_cycles(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_IMAD_WIDE) ? WIDE_HALF_CYCLES : 0;
}

static int check_times(struct checked *c)
{
	uint32_t reg[256] = { 0 }, predicate[8] = { 0 }, now = 0;

	for (uint32_t i = c->first_added; i < c->ninsns; i++) {
		struct sass_insn insn = insn_at(c, i);
		bool fixed = !sass_is_slow(insn);
		struct sass_operand result;
		unsigned written;

		if (sass_check_is_moved(c, i))
			continue;
		for (unsigned o = 1; o < SASS_OPERANDS; o++) {
			struct sass_operand x = insn.operand[o];

			for (unsigned k = 0; k < x.n; k++)
				if (now + wide_half_cycles(insn) < reg[(x.reg + k) & 255])
					return sass_check_fail(c, i, "a probe reads a register before its result is ready");
		}
		if (now < predicate[(insn.guard & SASS_PT)])
			return sass_check_fail(c, i, "a probe reads a predicate before it is ready");
		result = insn.operand[0];
		for (unsigned k = 0; k < result.n; k++)
			reg[(result.reg + k) & 255] = fixed ? now + MIN_RESULT_CYCLES - wide_half_cycles(insn) : 0;
		written = fixed ? sass_predicates_written(insn) : 0;
		for (unsigned p = 0; p < SASS_PT; p++)
			if (written >> p & 1)
				predicate[p] = now + MIN_GUARD_CYCLES;
		now += sass_min_cycles(insn);
	}
	return 0;
}

int sass_check_timing(struct checked *c)
{
	int err = check_seen(c);

	return err ? err : check_times(c);
}
