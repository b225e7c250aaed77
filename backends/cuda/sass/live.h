/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a kernel is live where a probe stands, and which registers the probe has so. They lie above the kernel's where
 * that costs no occupancy: then nothing of the kernel that is still in flight can meet them. Else they are R0 and up, and
 * at an exit the probe waits for all that is in flight; loads and stores of the kernel's to which the compiler gave no
 * scoreboard get one.
 */
#ifndef GPUBPF_SASS_LIVE_H
#define GPUBPF_SASS_LIVE_H

#include "code.h"
#include "core/target.h"

struct gpubpf_diag;

/* The target's live: at the entry a kernel has nothing in registers. */
struct gpubpf_live sass_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);

/* where the registers of probes go */
struct sass_room {
	bool above;                /* the kernel's */
	uint32_t base;             /* what the probes' R0 becomes */
	uint32_t regs;             /* a thread's then, as EIATTR_REGCOUNT counts them */
};
/* How many probes may need so that they lie above the kernel's: 0: none can. */
uint32_t sass_live_most(const struct sass_code *code, uint32_t regs);
/* For probes that need so many, in a kernel that has `regs`. 0; -EINVAL and the reason for which they do not fit. */
int sass_live_room(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_room *room, struct gpubpf_diag *diag);

/* Likewise, above the kernel's, whatever it costs: what of it is live is not asked. */
int sass_live_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_room *room, struct gpubpf_diag *diag);

/* The highest convergence barrier that the kernel does not use, SASS_BARRIERS: it uses all. */
#define SASS_BARRIERS 16
unsigned sass_barrier_free(const struct sass_code *code);
/* Predicates that the kernel may write, as bits. */
unsigned sass_predicates_used(const struct sass_code *code);
/* Whether the instruction, of any form, writes a predicate that is there when a scoreboard says so; and whether it has no scoreboard for
 * that: the predicate is dead, or a later operation of the same unit has one. */
bool sass_predicate_is_late(struct sass_insn insn);
bool sass_predicate_is_untold(const struct sass_arch *arch, struct sass_insn insn);
/* One that has one. */
struct sass_insn sass_predicate_told(struct sass_insn insn);
/* Whether it has a barrier of its own at which a block's lanes wait (BAR); code->barrier is also that of clusters, or of what it calls. */
bool sass_has_bar(const struct sass_code *code);

#endif
