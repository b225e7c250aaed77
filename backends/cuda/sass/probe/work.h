/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that read probes: the state of one probe. A line is one instruction of the probe. */
#ifndef GPUBPF_SASS_PROBE_WORK_H
#define GPUBPF_SASS_PROBE_WORK_H

#include "backends/cuda/sass/analysis/liveness.h"
#include "core/model/diag.h"
#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/demote.h"
#include "probe.h"

#define PREDICATES 7
#define LATENCY 6                  /* cycles until the result of an integer unit is readable, on all architectures */

struct work {
	const struct sass_arch *arch;
	const struct sass_section *tables; /* section of c[0x2] with the tables of computed branches (BRX); the data
	                                    * of the section is NULL if there are none */
	struct line {
		struct sass_insn insn;
		uint32_t target;     /* index of the line that a branch targets; SASS_NONE: none */
		uint32_t table_line; /* for a BRX: the line that loads from its table, or SASS_NONE */
		uint32_t nskipped;   /* number of lines that an inserted branch skips; 0: the branch goes to `target` */
		/* for a BRX without a table: number of the branches after it; it selects one of them. 0 for other
		 * lines. */
		uint32_t nbranches;
		bool dropped, to_drop, demoted, is_target; /* dropped: the line is removed. to_drop: the line will be
		                                            * removed. demoted: the line was a uniform operation.
		                                            * is_target: a branch targets the line. */
		bool changed_unit; /* demotion has moved the operation to another unit, which reads its operands a
		                    * cycle later */
	} *lines;
	uint32_t n, begin;                   /* begin: index of the first line after the preamble (sass_preamble()).
	                                      * The preamble is dropped. */
	uint32_t first_uniform, uniform_reg; /* uniform register first_uniform + i becomes per-lane register
	                                      * uniform_reg + i */
	uint8_t predicate[PREDICATES + 1];   /* predicate[u] is the lane predicate that replaces uniform predicate u;
	                                      * SASS_PT: the probe does not use u */
	struct sass_cfg cfg;                 /* the control-flow graph of the original lines */
	struct sass_liveness live;           /* liveness at the original lines */
	uint32_t divergences, jumps;         /* number of BRA.DIVs and of computed branches */
	uint32_t mask_reg, saved_reg;        /* registers for the active mask (BRA.DIV) and for saved predicates */
	/* sums: number of accesses whose address contains uniform registers. sum_reg: first of two registers in which
	 * the replacement of such an access computes the address. */
	uint32_t sums, sum_reg;
	/* scoreboards that these replacements set; the next replacement waits for them */
	unsigned sum_boards;
	unsigned board;                     /* the scoreboard that instructions without a scoreboard get */
	const char *name;                   /* of the probe */
	const struct gpubpf_lower_job *job; /* receives dumps */
	struct gpubpf_diag *diag;
};

/* Sets the diagnostic "the probe's machine code ..." and returns -EINVAL. */
#define sass_work_refuse(w, fmt, ...) gpubpf_diag_refuse((w)->diag, INJECT, "the probe's machine code " fmt, ##__VA_ARGS__)

/* Drops line i. The next line takes over its waits, and the line before takes over its stall. */
void sass_work_drop(struct work *w, uint32_t i);
/* Adapts control bits to the new latency of line i, so that the lines after it wait for its result. */
void sass_work_update_latency(struct work *w, uint32_t i);
/* Builds w->cfg. Returns 0 or -ENOMEM. */
int sass_work_build_cfg(struct work *w);
/* Allocates a lane predicate for each uniform predicate. Returns 0, -ENOMEM, or -EINVAL if too many are live. */
int sass_work_map_predicates(struct work *w);
/* Returns a lane predicate that is dead at line i; -1: none. Call this function before sass_work_expand_lines(). */
int sass_work_free_predicate(const struct work *w, uint32_t i);
/* Lets each lane test its own mask instead of the result of line i. Does so if line i combines or compares the masks
 * of lanes (REDUX, or R2UR with a predicate) and only BRA.DIV reads the result. Returns 0 or -ENOMEM. */
int sass_work_split_mask(struct work *w, uint32_t i);

/* Finds the targets of the BRX at line i and marks the load of its table. Returns 0, or -EINVAL if the table has an
 * unknown format. */
int sass_work_mark_jump(struct work *w, uint32_t i);
/* The first function returns the number of targets of line i, or 0 if the line is no BRX. The second function
 * returns its target k, or SASS_NONE if that target is outside of the probe. */
uint32_t sass_work_count_targets(const struct work *w, uint32_t i);
uint32_t sass_work_get_target(const struct work *w, uint32_t i, uint32_t k);
/* Returns the registers and predicates that replace uniform ones. */
struct sass_lane_registers sass_work_lane_registers(const struct work *w);
/* Replaces BRA.DIV, computed branches, and accesses whose address contains uniform registers, by code without uniform
 * operands. Returns 0, -ENOMEM, or -EINVAL if no predicate is free. */
int sass_work_expand_lines(struct work *w);

#endif
