/* SPDX-License-Identifier: Apache-2.0 */
/* Turns instructions with uniform operands into instructions with per-lane registers, as isa.def says
 * (SASS_UNIFORM). */
#ifndef GPUBPF_SASS_DEMOTE_H
#define GPUBPF_SASS_DEMOTE_H

#include "form.h"

/* the per-lane registers and predicates that replace uniform registers and predicates */
struct sass_lane_registers {
	uint32_t first_uniform, reg; /* uniform register first_uniform + i becomes register reg + i */
	const uint8_t *predicate;    /* predicate[u]: the lane predicate that replaces uniform predicate u */
	uint32_t sum;        /* first of two registers for the address that the replacement of an access computes */
	unsigned sum_boards; /* scoreboards of all replaced accesses; the next replacement waits for them */
	unsigned board;      /* the scoreboard that a replaced access gets if it sets no read scoreboard */
};

/* Replaces the uniform operands of *insn, if there are any. Returns NULL, or a clause for messages that says why it
 * cannot. */
const char *sass_demote(const struct sass_arch *arch, const struct sass_lane_registers *to, struct sass_insn *insn);
/* Does the instruction load the memory descriptor? This load is not needed without uniform operands. */
bool sass_loads_descriptor(const struct sass_arch *arch, struct sass_insn insn);

/* Returns the number of instructions that replace a memory access whose address contains uniform registers; 0 for other
 * instructions. Such an access is to local memory at a register plus a uniform register, or to global memory at a
 * uniform address without a descriptor. */
#define SASS_SUM_MAX_INSNS 5
uint32_t sass_count_sum_insns(const struct sass_arch *arch, struct sass_insn insn);
/* Writes the instructions that sass_count_sum_insns() counts. They compute the address in registers to->sum and
 * to->sum + 1, then access memory. */
void sass_emit_sum(const struct sass_arch *arch, const struct sass_lane_registers *to, struct sass_insn access,
		   struct sass_insn insns[SASS_SUM_MAX_INSNS]);

/* Returns the ISETP that compares register `reg` with the uniform register of a BRA.DIV, under the condition of the
 * BRA.DIV. */
struct sass_insn sass_compare_for_div(struct sass_insn div, unsigned predicate, unsigned reg);

#endif
