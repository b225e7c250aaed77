/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the register allocator of probes: one probe, its values and the states of its registers. */
#ifndef GPUBPF_SASS_REGALLOC_WORK_H
#define GPUBPF_SASS_REGALLOC_WORK_H

#include "regalloc.h"

#define REGS 256
#define NONE UINT16_MAX

/* State of a register before an instruction: a live value, or a dead one that is in flight. */
struct reg_state {
	uint16_t value;            /* NONE: the register is empty */
	uint8_t boards, fresh;     /* scoreboards that guard it; `fresh` were set so recently that a wait does not see
	                            * them yet */
	uint8_t cycles;            /* until the write completes */
};

struct regalloc {
	const struct sass_arch *arch;
	struct sass_probe *p;
	uint32_t regs;
	uint64_t (*live)[REGS / 64];       /* per instruction: registers that are live before it */
	struct reg_state *states;          /* state before each instruction, by register */
	uint16_t *defined;                 /* number of the value, by instruction and written register */
	uint16_t initial[REGS];            /* values in registers at the start */
	uint32_t nvalues, room;
	uint16_t *parent;                  /* union-find sets of values that share a register */
	/* of each value that represents its set */
	uint16_t *group;                   /* values that must occupy consecutive registers */
	int16_t *at;                       /* offset in the group */
	uint16_t *next;                    /* next value of the group; NONE: none */
	uint8_t *old, *reg, *align;        /* original register, new register, alignment of the group */
	uint64_t *interferes;              /* interference: a bit per pair that may not share a register */
	bool failed;                       /* leave the probe unchanged */
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
	return state->boards || state->fresh || state->cycles;
}

/* Is it still in flight after the waits of the instruction? */
static inline bool stays_in_flight(const struct reg_state *state, struct sass_insn insn)
{
	return (state->boards & ~sass_wait_mask(insn)) || state->fresh || state->cycles;
}

/* Does it read or write registers when later instructions may already execute? */
static inline bool works_after_issue(struct sass_insn insn)
{
	return sass_is_slow(insn) || sass_op_find(sass_opcode(insn))->class == SASS_ASYNC || sass_boards_set(insn);
}

/* Can the allocator handle the instruction? */
bool sass_regalloc_is_known(const struct regalloc *c, uint32_t i);
/* Finds live registers, values and the state of each register before each instruction. */
void sass_regalloc_find_states(struct regalloc *c);
/* The registers that are live after the instruction. */
void sass_regalloc_find_live_out(const struct regalloc *c, uint32_t i, uint64_t set[REGS / 64]);
/* The states of all registers after the instruction. */
void sass_regalloc_apply_insn(struct regalloc *c, uint32_t i, struct reg_state *states);

#endif
