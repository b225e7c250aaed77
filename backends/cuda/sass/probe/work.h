/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that read probes: the state of one probe. A line is one instruction of it. */
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
	const struct sass_section *tables; /* section c[0x2] with the tables of computed branches (BRX); its data is
	                                    * NULL if there are none */
	struct line {
		struct sass_insn insn;
		uint32_t target;     /* index of the line that a branch targets; SASS_NONE: none */
		uint32_t table_line; /* for BRX: the line that loads from its table; SASS_NONE: none */
		uint32_t nskipped;   /* for an inserted branch: number of lines that it skips; 0: it goes to
		                            * `target` */
		uint32_t nbranches;  /* for a BRX without a table: number of branches after it, of which it
		                            * selects one; else 0 */
		bool dropped, to_drop, demoted, is_target; /* dropped: removed. to_drop: to be removed. demoted:
		                                            * changed from a uniform operation. is_target: a branch
		                                            * targets the line. */
		bool changed_unit; /* demotion has moved the operation to another unit, which reads operands
		                            * a cycle later */
	} *lines;
	uint32_t n, begin;                   /* begin: the first line after the preamble (sass_preamble()), which is
	                                    * dropped */
	uint32_t first_uniform, uniform_reg; /* uniform register first_uniform + i becomes per-lane register
	                                      * uniform_reg + i */
	uint8_t predicate[PREDICATES + 1];   /* the lane predicate that replaces each uniform one; SASS_PT: the
	                                     * uniform one is not used */
	uint16_t *live;                      /* predicates that are live before each original line */
	uint32_t divergences, jumps;         /* number of BRA.DIVs and of computed branches */
	uint32_t mask_reg, saved_reg;        /* registers for the active mask (BRA.DIV) and for saved predicates */
	uint32_t sums, sum_reg;              /* sums: number of accesses whose address is a sum with uniform registers.
	                                    * sum_reg: first of the two registers for such a sum. */
	unsigned sum_boards;                 /* scoreboards of these accesses; a new sum waits for them */
	unsigned board;                      /* the scoreboard that instructions without one get */
	struct gpubpf_diag *diag;
};

/* Sets the diagnostic "the probe's machine code ..." and returns -EINVAL. */
#define sass_work_refuse(w, fmt, ...) gpubpf_diag_refuse((w)->diag, INJECT, "the probe's machine code " fmt, ##__VA_ARGS__)

/* Drops line i. The next line takes over its waits, the line before its stall. */
void sass_work_drop(struct work *w, uint32_t i);
/* Adapts control bits to the new latency of line i, so that the lines after it wait for its result. */
void sass_work_update_latency(struct work *w, uint32_t i);
/* Returns the branch target of line i as a successor in the control-flow graph; SASS_NONE: none. A BSSY has none if
 * its BSYNC is just before the target, because the BSYNC falls through there. */
uint32_t sass_work_branch_successor(const struct work *w, uint32_t i);
/* Allocates lane predicates for the uniform ones. -ENOMEM; -EINVAL: too many are live. */
int sass_work_map_predicates(struct work *w);
/* Returns a lane predicate that is dead at line i; -1: none. For use before sass_work_expand_lines(). */
int sass_work_free_predicate(const struct work *w, uint32_t i);
/* Replaces line i if it combines the masks of lanes for BRA.DIV (REDUX, or R2UR with a predicate) and only BRA.DIV
 * reads the result: then each lane tests its own mask. Returns 0 or -ENOMEM. */
int sass_work_split_mask(struct work *w, uint32_t i);
/* Does the instruction use a register of `result`? */
bool sass_work_touches(struct sass_insn insn, const struct sass_operand *result);

/* Finds the targets of the BRX at line i and marks its table load. Returns 0; -EINVAL: its table is not understood. */
int sass_work_mark_jump(struct work *w, uint32_t i);
/* Return the number of targets of line i, 0 if it is no BRX, and its k-th target, SASS_NONE if that is outside of
 * the probe. */
uint32_t sass_work_count_targets(const struct work *w, uint32_t i);
uint32_t sass_work_get_target(const struct work *w, uint32_t i, uint32_t k);
/* Returns the number of lines that replace an access at a sum with uniform registers; 0: the instruction is no such
 * access. It accesses local memory at a register plus a uniform register, or global memory without a descriptor at a
 * uniform address. */
uint32_t sass_work_count_sum_lines(const struct work *w, struct sass_insn insn);
/* Replaces BRA.DIV, computed branches, and accesses at sums by code without uniform operands. -ENOMEM; -EINVAL: no
 * predicate is free. */
int sass_work_expand_lines(struct work *w);

#endif
