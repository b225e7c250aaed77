/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that read probes: the state of one probe. */
#ifndef GPUBPF_SASS_PROBE_WORK_H
#define GPUBPF_SASS_PROBE_WORK_H

#include "core/model/diag.h"
#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/form.h"
#include "probe.h"

#define PREDICATES 7
#define LATENCY 6                  /* cycles until the result of an integer unit is readable, on all architectures */

struct work {
	const struct sass_arch *arch;
	const struct sass_section *tables; /* the targets of computed branches in c[0x2]; data NULL: none */
	struct line {
		struct sass_insn insn;
		uint32_t target;           /* index of a branch's target; SASS_NONE: none */
		uint32_t from;             /* the line that reads the table of a computed branch */
		uint32_t ahead;            /* number of lines that an inserted branch skips; 0: it goes to `target` */
		uint32_t run;              /* number of branches after a computed branch, which selects one of them;
		                            * else 0 */
		bool dropped, spare, demoted, entered; /* spare lines will be dropped; a branch targets an entered
		                                        * line */
		bool moved;                /* another unit executes it now, and operands reach that a cycle later */
	} *lines;
	uint32_t n, begin;                 /* begin: the first line after the preamble, which is dropped */
	uint32_t first_uniform, uniform_at; /* UR first_uniform becomes R uniform_at, and so on */
	uint8_t predicate[PREDICATES + 1];  /* the lane predicate that replaces each uniform one; SASS_PT: not used */
	uint16_t *live;                    /* predicates that are live before each original line */
	uint32_t divergences, jumps;       /* number of BRA.DIVs and of computed branches */
	uint32_t mask_at, kept_at;         /* registers for the active mask and for saved predicates */
	uint32_t sums, sum_at;             /* number of accesses at sums with uniform registers; the register pair for
	                                    * such a sum */
	unsigned sum_boards;               /* scoreboards that say that accesses have read the sum */
	unsigned board;                    /* a scoreboard for instructions without one */
	struct gpubpf_diag *diag;
};

/* Refuses the probe: the message begins "the probe's machine code". Returns -EINVAL. */
#define sass_work_refuse(w, fmt, ...) gpubpf_diag_refuse((w)->diag, INJECT, "the probe's machine code " fmt, ##__VA_ARGS__)

/* Drops a line: its neighbours take over its waits and its stall. */
void sass_work_drop(struct work *w, uint32_t i);
/* Sets the control bits around line i, whose latency has changed: the lines after it wait for it. */
void sass_work_update_latency(struct work *w, uint32_t i);
/* The successor of the line other than the next line; SASS_NONE: none. BSSY has no such successor if its BSYNC is just
 * before the target. */
uint32_t sass_work_branch_successor(const struct work *w, uint32_t i);
/* Allocates lane predicates for the uniform ones. -ENOMEM; -EINVAL: too many are live. */
int sass_work_map_predicates(struct work *w);
/* A predicate that is dead at the line, before sass_work_expand_lines(); -1: none. */
int sass_work_free_predicate(const struct work *w, uint32_t i);
/* Changes a line that combines the lanes' masks for BRA.DIV (REDUX; R2UR with a predicate) if only BRA.DIV reads its
 * result. Then each lane has a separate mask. -ENOMEM. */
int sass_work_split_mask(struct work *w, uint32_t i);
/* Do the two have a register in common? */
bool sass_work_touches(struct sass_insn insn, const struct sass_operand *result);

/* Marks the parts of the computed branch at the line. 0; -EINVAL: its table is not understood. */
int sass_work_mark_jump(struct work *w, uint32_t i);
/* How many targets the line has, 0 if it is no computed branch; and the k-th target, SASS_NONE: outside of the
 * probe. */
uint32_t sass_work_count_targets(const struct work *w, uint32_t i);
uint32_t sass_work_get_target(const struct work *w, uint32_t i, uint32_t k);
/* How many lines replace an access at a sum with uniform registers; 0: the line is no such access. It is local memory
 * at the sum of a register and a uniform one, or memory without a descriptor at a uniform address. */
uint32_t sass_work_count_sum_lines(const struct work *w, struct sass_insn insn);
/* Replaces BRA.DIV, computed branches, and accesses at sums by code without uniform operands. -ENOMEM; -EINVAL: no
 * predicate is free. */
int sass_work_expand_lines(struct work *w);

#endif
