/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns registers to values by graph coloring. The allocator of probes with branches (regalloc.c) and the scheduler of
 * straight-line probes (schedule_registers.c) both use it.
 *
 * A group contains the values that must occupy consecutive registers: the registers of one operand, and all values that
 * share an operand with these.
 *
 * Does:     assigns each group the lowest registers in which no value interferes with a value that is there already.
 * Before:   the groups are complete, and all interferences are recorded.
 * After:    reg[v] is the register of value v, or `failed` is set.
 * Requires: groups with fixed registers are placed first.
 */
#ifndef GPUBPF_SASS_COLORING_H
#define GPUBPF_SASS_COLORING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SASS_NO_VALUE UINT16_MAX

struct sass_groups {
	uint16_t *group; /* group[v]: the first value of the group of v. The caller owns the three arrays. */
	uint16_t *next;  /* next[v]: the next value of the group, or SASS_NO_VALUE */
	int16_t *at;     /* at[v]: register offset of v in its group */
	int max_at;      /* largest distance of an offset from 0 that sass_groups_join() accepts */
	bool failed;     /* two values would need two distances, or an offset is too large */
};

/* Makes a group of value v alone. */
void sass_groups_add(struct sass_groups *groups, uint16_t v);
/* Joins the groups of a and b so that the register of b is `off` after the register of a. */
void sass_groups_join(struct sass_groups *groups, uint16_t a, uint16_t b, int off);

struct sass_coloring {
	const struct sass_groups *groups;
	uint32_t n, words, limit; /* number of values; 64-bit words of a set of values; number of registers */
	uint32_t regs;            /* number of registers up to the highest that a value has */
	uint8_t *reg;
	uint8_t *align;       /* align[group]: alignment of an operand of the group; 1, 2 or 4 */
	uint8_t *phase;       /* phase[v] and reg[v] have the same remainder modulo the alignment */
	bool *placed;         /* placed[group]: the group has registers */
	uint64_t *interferes; /* interferes[v * words]: the values that may not share a register with v, as bits */
	uint64_t *occupants;  /* occupants[register * words]: the values in this register, as bits */
	bool failed;
};

/* Begins the coloring of n values. All groups have alignment 1. Returns 0 or -ENOMEM. The caller calls
 * sass_coloring_finish() in both cases. */
int sass_coloring_begin(struct sass_coloring *c, const struct sass_groups *groups, uint32_t n, uint32_t limit);
void sass_coloring_finish(struct sass_coloring *c);
/* Makes the alignment of v's group at least `align`. */
void sass_coloring_align(struct sass_coloring *c, uint16_t v, unsigned align);
/* Records that the two values may not share a register. */
void sass_coloring_interfere(struct sass_coloring *c, uint16_t a, uint16_t b);
/* Places the group of v so that v has register `reg`. Fails if the group has other registers or does not fit. */
void sass_coloring_place_at(struct sass_coloring *c, uint16_t v, int reg);
/* Places the group of v as low as possible, unless it has registers. */
void sass_coloring_place(struct sass_coloring *c, uint16_t v);

#endif
