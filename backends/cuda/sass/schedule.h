/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that have no branch but ends: each instruction as early as what it needs allows. An assembler orders a probe for the
 * uniform datapath, and by itself it would run behind its slow reads, one after the other.
 */
#ifndef GPUBPF_SASS_SCHEDULE_H
#define GPUBPF_SASS_SCHEDULE_H

#include "probe.h"

#define SASS_STRAIGHT 96           /* instructions at most; of a longer probe the reads are little */

/* After it: the same stores, in the same order, of the same values for the same lanes (proved by numbering values), in no more
 * registers. 0, also where the probe stays as it is, since it is not of that kind; -ENOMEM. */
int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe);

/* of each instruction of such a probe */
struct sass_lasting {
	bool stays[SASS_STRAIGHT]; /* its results are to stay in their registers to the end; */
	bool known[SASS_STRAIGHT]; /* or who wants them finds them in registers */
	uint8_t at[SASS_STRAIGHT]; /* the first of those: told of what stays, given of what is known and wanted */
};

/* Which of the instructions whose results are known have some that others read. -ENOMEM. */
int sass_schedule_wants(const struct sass_arch *arch, const struct sass_probe *probe, const struct sass_lasting *lasting,
			bool wanted[SASS_STRAIGHT]);
/* In an order as sass_schedule()'s, without what is there already; in as many registers as it takes, and not proved. -EINVAL: it is
 * not of that kind, or cannot be; -ENOMEM. */
int sass_schedule_lasting(const struct sass_arch *arch, struct sass_probe *probe, struct sass_lasting *lasting);

/* Whether two such probes do the same; b behind another, whose results that last it finds in the registers. */
bool sass_does_same(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb);
bool sass_does_same_behind(const struct sass_probe *before, const struct sass_probe *a, const struct sass_probe *b);

/* what an instruction leaves in its registers */
struct sass_made {
	uint64_t number[4];        /* the same number: the same value */
	uint8_t n;                 /* 0: none, or it does not last: computed later, it may be another */
};
/* False: the probe is not of that kind. */
bool sass_number(const struct sass_insn *insns, uint32_t n, struct sass_made *made);

/* Where an instruction that such probes may have names predicates, as bits of enum sass_predicate_field; -1: it is not one. */
int sass_predicate_fields(struct sass_insn insn);

/* Does it do more than to compute: memory, lanes that meet, the time, ends? */
bool sass_is_ordered(struct sass_insn insn);
bool sass_reads_clock(struct sass_insn insn);
/* Does it read where the thread runs, which may be elsewhere when a thread was interrupted? */
bool sass_reads_place(struct sass_insn insn);
/* A register that becomes another's copy, and no more: the field of the other; 0: it is something else. */
unsigned sass_copied_from(struct sass_insn insn);

#endif
