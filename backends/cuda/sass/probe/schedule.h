/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules straight-line probes: each instruction executes as early as its operands allow. The assembler orders a
 * probe for the uniform datapath. After demotion to per-lane registers, that order would wait for one slow read after
 * another.
 *
 * Does:     copy propagation, removal of dead code, list scheduling, register allocation, stalls and scoreboards.
 * Before:   the probe has no uniform operations.
 * After:    the probe stores the same values in the same order for the same lanes, and needs no more registers. Value
 *           numbering (numbering.c) proves this.
 * Requires: code without branches except exits, of instructions with known latency.
 */
#ifndef GPUBPF_SASS_SCHEDULE_H
#define GPUBPF_SASS_SCHEDULE_H

#include "probe.h"

#define SASS_STRAIGHT_MAX_INSNS 96           /* maximum number of instructions of a probe that is scheduled; slow
                                              * reads matter little in a longer probe */

/* Schedules the probe. Leaves it unchanged if it is not straight-line, or if the result needs more registers or
 * cannot be proved equivalent. Returns 0 or -ENOMEM. */
int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe);

/* Results in fixed registers, by index of the instruction in a straight-line probe. The entry probe leaves results
 * in registers (`live_out`), and the exit probe finds them there (`live_in`). */
struct sass_pinned_results {
	bool live_out[SASS_STRAIGHT_MAX_INSNS]; /* the results of the instruction must be in their registers at the
	                                         * end of the probe */
	bool live_in[SASS_STRAIGHT_MAX_INSNS];  /* the results of the instruction are in registers when the probe
	                                         * begins */
	uint8_t reg[SASS_STRAIGHT_MAX_INSNS];   /* the first register of the results; sass_schedule_pinned() sets it
	                                         * for `live_out` and reads it for `live_in` */
};

/* Sets is_read[i] for each instruction i whose results are pinned (`live_in`), if another instruction reads one of
 * these results. Returns 0 or -ENOMEM. */
int sass_schedule_find_read(const struct sass_arch *arch, const struct sass_probe *probe,
			    const struct sass_pinned_results *pinned, bool is_read[SASS_STRAIGHT_MAX_INSNS]);
/* Schedules like sass_schedule(), but removes instructions whose results are in registers already (`live_in`). May use
 * more registers than before and does not prove equivalence. Returns 0, -ENOMEM, or -EINVAL if the probe is not
 * straight-line or no schedule was found. */
int sass_schedule_pinned(const struct sass_arch *arch, struct sass_probe *probe, struct sass_pinned_results *pinned);

/* Both functions prove by value numbering that two straight-line probes have equal effects. In
 * sass_is_equivalent_after(), b runs after probe `before` and reads registers that `before` has written. Probe a
 * computes these values itself. */
bool sass_is_equivalent(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb);
bool sass_is_equivalent_after(const struct sass_probe *before, const struct sass_probe *a, const struct sass_probe *b);

/* value numbers of the results that an instruction leaves in registers */
struct sass_insn_values {
	uint64_t number[4]; /* equal numbers mean equal values */
	uint8_t n;          /* number of registers; 0: the instruction has no result, or may compute another value
	                     * when it executes again later */
};
/* Numbers the values of a straight-line probe. Stores the numbers for instruction i in made[i]. Returns false if the
 * probe is not straight-line. */
bool sass_number_values(const struct sass_insn *insns, uint32_t n, struct sass_insn_values *made);

/* Returns the fields in which the instruction names predicates, as bits of enum sass_predicate_field. Returns -1 if
 * a straight-line probe may not contain the instruction. */
int sass_predicate_fields(struct sass_insn insn);

/* The first function: does the instruction access memory, exchange data between lanes, read the clock, or end lanes?
 * The second function: does it read the clock? */
bool sass_has_side_effect(struct sass_insn insn);
bool sass_reads_clock(struct sass_insn insn);
/* Does the instruction read the number of the multiprocessor? That number is not constant, because a preempted
 * thread may continue on another multiprocessor. */
bool sass_reads_multiprocessor(struct sass_insn insn);

#endif
