/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "patch.h"
#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/isa/scoreboard.h"

#define MAX_INSNS_BETWEEN (3 + SASS_BARRIERS) /* maximum number of instructions between the two probes */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Copies the first probe. Adds a scoreboard to slow instructions without a scoreboard. Turns EXITs into branches to
 * the end of the probe. */
static void copy_first(const struct sass_arch *arch, const struct sass_probe *first, struct sass_insn *to)
{
	for (uint32_t i = 0; i < first->n; i++) {
		struct sass_insn insn = first->insns[i];

		insn = sass_lacks_board(insn) ? sass_with_board(insn, SASS_PROBE_SB) : insn;
		to[i] = sass_exit_to_branch(arch, insn, first->n - i - 1);
	}
	sass_insert_added_waits(first->insns, to, first->n);
}

/* Emits the code between the probes. It waits until nothing is in flight. Then it releases the convergence barriers
 * of the first probe, so that no lane waits there for a lane that has already left the probe. WARPSYNC reconverges
 * the warp. If a probe has barriers, patch_exit.c also emits a copy that each lane runs separately, in which no lane
 * waits. */
static uint32_t emit_between(const struct sass_probe *first, enum sass_join_kind how, struct sass_insn *to)
{
	uint32_t n = 0;

	to[n++] = sass_nop(0, SASS_SCOREBOARD_CYCLES);
	to[n++] = sass_nop(SASS_ALL_BOARDS, SASS_STALL_MAX);
	for (uint32_t b = 0; b < first->barriers; b++)
		to[n++] = sass_break(b);
	if (first->diverges && (how == SASS_JOIN_CONVERGED || first->barriers))
		to[n++] = sass_warpsync_all();
	return n;
}

int sass_probe_join(const struct sass_arch *arch, struct sass_probe *first, struct sass_probe *second,
		    enum sass_join_kind how)
{
	struct sass_insn *insns = calloc(first->n + MAX_INSNS_BETWEEN + second->n, sizeof(*insns));
	uint32_t n = first->n;

	if (!insns)
		return -ENOMEM;
	if (how == SASS_JOIN_FILTER)
		memcpy(insns, first->insns, n * sizeof(*insns));
	else
		copy_first(arch, first, insns);
	n += how == SASS_JOIN_FILTER ? 0 : emit_between(first, how, insns + n);
	if (second->n)
		memcpy(insns + n, second->insns, second->n * sizeof(*insns));
	free(first->insns);
	first->insns = insns;
	first->n = n + second->n;
	first->regs = max_u32(first->regs, second->regs);
	first->frame = max_u32(first->frame, second->frame);
	first->barriers = max_u32(first->barriers, second->barriers);
	first->diverges |= second->diverges;
	first->predicates |= second->predicates;
	sass_probe_finish(second);
	return 0;
}
