/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the register allocator of probes: one probe, its values and the states of its registers. */
#ifndef GPUBPF_SASS_REGALLOC_WORK_H
#define GPUBPF_SASS_REGALLOC_WORK_H

#include "regalloc.h"

#define REGS 256
#define NONE UINT16_MAX

/* State of a register before an instruction: its value is live, or dead but still accessed by an instruction in
 * flight. */
struct reg_state {
	uint16_t value;                /* NONE: the register is empty */
	uint8_t boards, unseen_boards; /* boards: scoreboards of the accesses in flight. unseen_boards: those set so
	                                * recently that the next wait does not see them yet. */
	uint8_t cycles;                /* cycles until a fixed-latency write completes */
};

struct regalloc {
	const struct sass_arch *arch;
	struct sass_probe *p;
	uint32_t regs;
	uint64_t (*live)[REGS / 64]; /* per instruction: registers that are live before it */
	struct reg_state *states;    /* states before each instruction: [instruction * regs + register] */
	uint16_t *defined;           /* number of the value that an instruction defines: [instruction * regs +
	                                    * register] */
	uint16_t initial[REGS];      /* number of the value that each register has at the start of the probe */
	uint32_t nvalues, room;
	uint16_t *parent; /* union-find sets of values that share a register */
	/* the arrays below are indexed by the representative of a union-find set */
	uint16_t *group;                /* number of the group: values that must occupy consecutive registers */
	int16_t *at;                    /* register offset in the group */
	uint16_t *next;                 /* next value of the group; NONE: none */
	uint8_t *old_reg, *reg, *align; /* the original register of a value, its new register, and the alignment
	                                    * of a group */
	uint64_t *interferes;           /* interference: a bit per pair that may not share a register */
	bool failed;                    /* leave the probe unchanged */
};

static inline struct sass_operand operand(const struct regalloc *c, uint32_t i, unsigned o)
{
	return sass_operand(sass_form_find(sass_opcode(c->p->insns[i])), c->p->insns[i], o);
}

static inline bool has_bit(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
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
	return sass_is_slow(insn) || sass_op_find(sass_opcode(insn))->class == SASS_ASYNC || sass_boards_set(insn);
}

/* Can the allocator handle the instruction? */
bool sass_regalloc_is_known(const struct regalloc *c, uint32_t i);
/* Finds live registers, values and the state of each register before each instruction. */
void sass_regalloc_find_states(struct regalloc *c);
/* Sets the registers that are live after instruction i, as a bit set. */
void sass_regalloc_find_live_out(const struct regalloc *c, uint32_t i, uint64_t set[REGS / 64]);
/* Computes the states of all registers after instruction i from those before it. */
void sass_regalloc_apply_insn(struct regalloc *c, uint32_t i, struct reg_state *states);

#endif
