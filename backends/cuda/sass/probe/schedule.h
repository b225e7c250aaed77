/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules straight-line probes: each instruction as early as its operands allow. The assembler orders a probe for the
 * uniform datapath. On registers of lanes that order would wait for one slow read after another.
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

#define SASS_STRAIGHT_MAX_INSNS 96           /* maximum number of instructions; in longer probes slow reads matter little */

/* Schedules the probe. 0, also if the probe is of another kind and stays unchanged; -ENOMEM. */
int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe);

/* per instruction of such a probe */
struct sass_pinned_results {
	bool stays[SASS_STRAIGHT_MAX_INSNS]; /* its results must stay in their registers to the end */
	bool known[SASS_STRAIGHT_MAX_INSNS]; /* its results are in registers already */
	uint8_t at[SASS_STRAIGHT_MAX_INSNS]; /* the first of these registers: an output for `stays`, an input for `known` */
};

/* Which instructions with known results have a result that others read? -ENOMEM. */
int sass_schedule_find_read(const struct sass_arch *arch, const struct sass_probe *probe, const struct sass_pinned_results *lasting,
			bool wanted[SASS_STRAIGHT_MAX_INSNS]);
/* Schedules like sass_schedule(), but does not compute known results. It uses as many registers as needed and proves
 * nothing. -EINVAL: the probe is of another kind, or no schedule was found; -ENOMEM. */
int sass_schedule_pinned(const struct sass_arch *arch, struct sass_probe *probe, struct sass_pinned_results *lasting);

/* Do two such probes do the same? With `before`, b runs after it and finds its lasting results in registers. */
bool sass_is_equivalent(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb);
bool sass_is_equivalent_after(const struct sass_probe *before, const struct sass_probe *a, const struct sass_probe *b);

/* the values that an instruction leaves in its registers */
struct sass_insn_values {
	uint64_t number[4];        /* equal numbers: equal values */
	uint8_t n;                 /* 0: none, or the value does not last, because it may differ if computed later */
};
/* False: the probe is of another kind. */
bool sass_number_values(const struct sass_insn *insns, uint32_t n, struct sass_insn_values *made);

/* The fields where an instruction of such a probe names predicates, as bits of enum sass_predicate_field. -1: such
 * probes may not have it. */
int sass_predicate_fields(struct sass_insn insn);

/* Does it do more than compute: access memory, exchange data between lanes, read the clock, end lanes? */
bool sass_has_side_effect(struct sass_insn insn);
bool sass_reads_clock(struct sass_insn insn);
/* Does it read where the thread runs? A thread that was preempted may run on another multiprocessor. */
bool sass_reads_multiprocessor(struct sass_insn insn);
/* Does it only copy a register? Returns the field of the source; 0: it does more. */
unsigned sass_copy_source_field(struct sass_insn insn);

#endif
