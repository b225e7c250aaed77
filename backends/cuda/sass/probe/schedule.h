/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules straight-line probes: each instruction as early as its operands allow. The assembler orders a probe for the
 * uniform datapath; with per-lane registers that order waits for one slow read after another.
 *
 * Does:     copy propagation, removal of dead code, list scheduling, register allocation, stalls and scoreboards.
 * Before:   the probe has no uniform operations.
 * After:    the same stores, in the same order, of the same values for the same lanes, in no more registers. Value
 *           numbering (numbering.c) proves this.
 * Requires: code without branches except exits, of instructions with known latency.
 */
#ifndef GPUBPF_SASS_SCHEDULE_H
#define GPUBPF_SASS_SCHEDULE_H

#include "probe.h"

#define SASS_STRAIGHT_MAX_INSNS 96           /* maximum number of instructions of a probe that is scheduled; in
                                              * longer ones slow reads matter little */

/* Schedules the probe. Leaves it unchanged if it is not straight-line, or if the result needs more registers or
 * cannot be proved equivalent. Returns 0 or -ENOMEM. */
int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe);

/* Results with fixed registers, by instruction of a straight-line probe. The entry probe leaves results in registers
 * (`live_out`); the exit probe finds them there (`live_in`). */
struct sass_pinned_results {
	bool live_out[SASS_STRAIGHT_MAX_INSNS]; /* its results must be in their registers at the end of the probe */
	bool live_in[SASS_STRAIGHT_MAX_INSNS];  /* its results are in registers when the probe begins */
	uint8_t reg[SASS_STRAIGHT_MAX_INSNS];   /* the first of these registers; sass_schedule_pinned() sets it for
	                                       * `live_out` and reads it for `live_in` */
};

/* Sets is_read[i] for each instruction i with a known result that another instruction reads. Returns 0 or -ENOMEM. */
int sass_schedule_find_read(const struct sass_arch *arch, const struct sass_probe *probe,
			    const struct sass_pinned_results *pinned, bool is_read[SASS_STRAIGHT_MAX_INSNS]);
/* Schedules like sass_schedule(), but does not compute known results. Uses as many registers as needed and proves
 * nothing. -EINVAL: the probe is not straight-line, or no schedule was found; -ENOMEM. */
int sass_schedule_pinned(const struct sass_arch *arch, struct sass_probe *probe, struct sass_pinned_results *pinned);

/* Proves by value numbering that two straight-line probes have equal effects. sass_is_equivalent_after(): b runs
 * after probe `before` and reads registers that `before` has written, where a computes the values. */
bool sass_is_equivalent(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb);
bool sass_is_equivalent_after(const struct sass_probe *before, const struct sass_probe *a, const struct sass_probe *b);

/* value numbers of the results that an instruction leaves in registers */
struct sass_insn_values {
	uint64_t number[4]; /* equal numbers: equal values */
	uint8_t n;          /* number of registers; 0: the instruction has no result, or the same instruction
	                            * may compute another value later */
};
/* Numbers the values of a straight-line probe: made[i] for instruction i. False: the probe is not straight-line. */
bool sass_number_values(const struct sass_insn *insns, uint32_t n, struct sass_insn_values *made);

/* Returns the fields in which the instruction names predicates, as bits of enum sass_predicate_field. -1: a
 * straight-line probe may not contain the instruction. */
int sass_predicate_fields(struct sass_insn insn);

/* Does the instruction access memory, exchange data between lanes, read the clock, or end lanes? */
bool sass_has_side_effect(struct sass_insn insn);
bool sass_reads_clock(struct sass_insn insn);
/* Does the instruction read the number of the multiprocessor? A thread that was preempted may continue on another
 * one. */
bool sass_reads_multiprocessor(struct sass_insn insn);
/* If the instruction only copies a register, returns the bit position of the source field; else 0. */
unsigned sass_copy_source_field(struct sass_insn insn);

#endif
