/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The effects of a single instruction, by its opcode: transfers of control, exchanges between lanes, accesses to memory
 * and to constants. All functions are pure.
 */
#ifndef GPUBPF_SASS_EFFECTS_H
#define GPUBPF_SASS_EFFECTS_H

#include "isa.h"

/* Does the instruction have a relative target? */
bool sass_has_target(struct sass_insn insn);
/* Is it part of divergent control flow: a branch, or an instruction that reconverges lanes? */
bool sass_is_divergent_flow(struct sass_insn insn);
/* Does the instruction execute independently of other lanes, and fall through? */
bool sass_is_lane_independent(struct sass_insn insn);
/* Does the instruction access memory other than local memory, so that it has an effect outside of the lane or can
 * fault? */
bool sass_has_effect(struct sass_insn insn);
/* Is the instruction STS, ATOMS or BAR, which probes may use only to count the lanes of a block (lane_count.h)? */
bool sass_is_count_insn(struct sass_insn insn);
/* Does the instruction read the special register with the size of the block's shared memory? */
bool sass_reads_shared_size(struct sass_insn insn);

/* Returns the constant bank that the instruction reads; -1: none. */
int sass_constant_bank(struct sass_insn insn);
/* Returns the offset in that bank in bytes, without the index register. */
uint64_t sass_constant_offset(struct sass_insn insn);

#endif
