/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that have no branch but ends: each instruction as early as what it needs allows. An assembler orders a probe for the
 * uniform datapath, and by itself it would run behind its slow reads, one after the other.
 */
#ifndef GPUBPF_SASS_SCHEDULE_H
#define GPUBPF_SASS_SCHEDULE_H

#include "probe.h"

/* After it: the same stores, in the same order, of the same values for the same lanes (proved by numbering values), in no more
 * registers. 0, also where the probe stays as it is, since it is not of that kind; -ENOMEM. */
int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe);

/* Whether two such probes do the same. */
bool sass_does_same(const struct sass_insn *a, uint32_t na, const struct sass_insn *b, uint32_t nb);

/* Where an instruction that such probes may have names predicates, as bits of enum sass_predicate_field; -1: it is not one. */
int sass_predicate_fields(struct sass_insn insn);

/* Does it do more than to compute: memory, lanes that meet, the time, ends? */
bool sass_is_ordered(struct sass_insn insn);
bool sass_reads_clock(struct sass_insn insn);
/* A register that becomes another's copy, and no more: the field of the other; 0: it is something else. */
unsigned sass_copied_from(struct sass_insn insn);

#endif
