/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that read probes: one while it is worked on. */
#ifndef GPUBPF_SASS_PROBE_WORK_H
#define GPUBPF_SASS_PROBE_WORK_H

#include "core/diag.h"
#include "cubin.h"
#include "form.h"
#include "probe.h"

#define PREDICATES 7
#define LATENCY 6                  /* cycles until a result of the integer units can be read, on all architectures */

struct work {
	const struct sass_arch *arch;
	const struct sass_section *tables; /* c[0x2]: where computed branches go; data NULL: none */
	struct line {
		struct sass_insn insn;
		uint32_t target;           /* of a branch: index; SASS_NONE: none */
		uint32_t from;             /* of a computed branch: the line that reads its table, */
		uint32_t ahead;            /* of one that was put in: it goes over so many lines; 0: to its target */
		uint32_t run;              /* or how many branches stand behind it, of which it goes to one; 0: it is none */
		bool dropped, spare, demoted, entered; /* spare: will be dropped; entered: a branch goes there */
		bool moved;                /* to another unit, to which results come a cycle later */
	} *lines;
	uint32_t n, begin;                 /* the first that is not the preamble's, which goes */
	uint32_t first_uniform, uniform_at; /* UR first_uniform becomes R uniform_at, and so on */
	uint8_t predicate[PREDICATES + 1];  /* what uniform predicates become, SASS_PT: not used */
	uint16_t *live;                    /* of each line as it was read, the predicates that matter before it */
	uint32_t divergences, jumps;       /* BRA.DIVs, computed branches */
	uint32_t mask_at, kept_at;         /* registers that hold who is there, and predicates meanwhile */
	uint32_t sums, sum_at;             /* accesses at sums with uniform registers; where such a sum is: two registers */
	unsigned sum_boards;               /* scoreboards that say that it was read */
	unsigned board;                    /* a scoreboard for what had none */
	struct gpubpf_diag *diag;
};

/* -EINVAL: the probe's machine code ... */
#define sass_work_refuse(w, fmt, ...) gpubpf_diag_refuse((w)->diag, INJECT, "the probe's machine code " fmt, ##__VA_ARGS__)

/* Lines with no use before or behind them that a dropped one has not. */
uint32_t sass_work_next(const struct work *w, uint32_t i);
void sass_work_drop(struct work *w, uint32_t i);
/* The line lets at least `stall` cycles pass. */
void sass_work_stall(struct line *line, unsigned stall);
/* Instructions that were made otherwise take another time: those behind them wait for them. */
void sass_work_time(struct work *w, uint32_t i);
/* Where the line may go besides behind itself, SASS_NONE: nowhere. Of BSSY that is no way of its own if its BSYNC stands before it. */
uint32_t sass_work_way(const struct work *w, uint32_t i);
/* What the warp's own predicates become. -ENOMEM, -EINVAL: too many are in use. */
int sass_work_map_predicates(struct work *w);
/* A predicate of which nobody wants the value at the line, which was not opened yet; -1: none. */
int sass_work_free_predicate(const struct work *w, uint32_t i);
/* A line that makes of the masks of lanes what BRA.DIV is asked with (REDUX; R2UR of a predicate), if nobody else reads that,
 * becomes one that leaves each lane its own. -ENOMEM. */
int sass_work_find_asked(struct work *w, uint32_t i);
/* Whether the two have a register in common. */
bool sass_work_touches(struct sass_insn insn, const struct sass_operand *result);

/* The line's computed branch, if it is one with a table that is understood: 0, and its parts are marked; -EINVAL. */
int sass_work_find_jump(struct work *w, uint32_t i);
/* Where it may lead: how many lines, and the k-th; SASS_NONE: nowhere in the probe. Of others 0. */
uint32_t sass_work_entries(const struct work *w, uint32_t i);
uint32_t sass_work_entry(const struct work *w, uint32_t i, uint32_t k);
/* How many lines an access becomes that is one of local memory at the sum of a register and a uniform one, or of memory without a
 * descriptor at a uniform address; 0: it is none. */
uint32_t sass_work_adds(const struct work *w, struct sass_insn insn);
/* Branches that ask where other lanes are, and computed ones, and accesses at sums become those that machine code of lanes
 * has. -ENOMEM, -EINVAL: with no predicate left for them. */
int sass_work_open_lines(struct work *w);

#endif
