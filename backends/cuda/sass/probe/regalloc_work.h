/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the register allocator of probes: one probe, its values and the states of its registers. */
#ifndef GPUBPF_SASS_REGALLOC_WORK_H
#define GPUBPF_SASS_REGALLOC_WORK_H

#include "backends/cuda/sass/analysis/liveness.h"
#include "coloring.h"
#include "regalloc.h"

#define REGS 256
#define NONE SASS_NO_VALUE

/* State of a register before an instruction. The value in the register is live, or it is dead but an instruction in
 * flight still accesses it. */
struct reg_state {
	uint16_t value;                /* NONE: the register is empty */
	uint8_t boards, unseen_boards; /* boards: scoreboards of the accesses in flight. unseen_boards: scoreboards
	                                * that were set so recently that the next wait does not see them yet. */
	uint8_t cycles;                /* cycles until a fixed-latency write completes */
};

struct regalloc {
	const struct sass_arch *arch;
	struct sass_probe *p;
	uint32_t regs;
	struct sass_cfg cfg;
	struct sass_liveness live;
	struct reg_state *states; /* states[instruction * regs + register]: state before the instruction */
	uint16_t *defined;        /* defined[instruction * regs + register]: number of the value that the instruction
	                           * writes */
	uint16_t initial[REGS];   /* number of the value that each register holds at the start of the probe */
	uint32_t nvalues;
	uint16_t *parent; /* union-find forest over values; the values of a set share a register */
	/* The members below have the representative of a union-find set as index. */
	uint8_t *old_reg;          /* original register of a value */
	struct sass_groups groups; /* values that must occupy consecutive registers */
	struct sass_coloring coloring;
};

static inline struct sass_operand operand(const struct regalloc *c, uint32_t i, unsigned o)
{
	return c->p->insns[i].operand[o];
}

static inline uint16_t find_set(const struct regalloc *c, uint16_t v)
{
	while (c->parent[v] != v)
		v = c->parent[v] = c->parent[c->parent[v]];
	return v;
}

static inline struct reg_state *states_before(const struct regalloc *c, uint32_t i)
{
	return c->states + (size_t)i * c->regs;
}

static inline bool in_flight(const struct reg_state *state)
{
	return state->boards || state->unseen_boards || state->cycles;
}

/* Is an access of the register still in flight after the waits of the instruction? */
static inline bool stays_in_flight(const struct reg_state *state, struct sass_insn insn)
{
	return (state->boards & ~sass_wait_mask(insn)) || state->unseen_boards || state->cycles;
}

/* May the instruction access registers after later instructions have issued? */
static inline bool works_after_issue(struct sass_insn insn)
{
	return sass_is_slow(insn) || sass_op(insn)->class == SASS_ASYNC || sass_boards_set(insn);
}

/* Can the allocator handle the instruction? */
bool sass_regalloc_is_known(const struct regalloc *c, uint32_t i);
/* Finds the value and the state of each register before each instruction. Returns 0 or -ENOMEM. */
int sass_regalloc_find_states(struct regalloc *c);
/* Computes the states of all registers after instruction i from the states before the instruction. */
void sass_regalloc_apply_insn(struct regalloc *c, uint32_t i, struct reg_state *states);

#endif
