/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Says what a single instruction does, by its opcode: transfers of control, exchanges between lanes, accesses to memory
 * and to constants. All functions are pure.
 */
#ifndef GPUBPF_SASS_EFFECTS_H
#define GPUBPF_SASS_EFFECTS_H

#include "isa.h"

/* Does the instruction have a target that is relative to its own address? */
bool sass_has_target(struct sass_insn insn);
/* Is the instruction part of divergent control flow: a branch, or an instruction that reconverges lanes? */
bool sass_is_divergent_flow(struct sass_insn insn);
/* Does the instruction execute independently of other lanes, and fall through? */
bool sass_is_lane_independent(struct sass_insn insn);
/* Is the instruction a call, return or jump that contains the distance to its target or to the return point? All
 * active lanes must execute it, and it must not count the call depth. */
bool sass_is_relative_transfer(struct sass_insn insn);
/* Is the instruction an EXIT in which only predicates and control bits vary? */
bool sass_is_plain_exit(struct sass_insn insn);
/* Returns the distance in bytes from the end of LEPC to the address that it computes from an immediate. */
int64_t sass_lepc_offset(struct sass_insn insn);
/* Turns CALL.REL.NOINC into BRA; returns other instructions unchanged. CALL.REL.NOINC stores no return address, so
 * it differs from a branch only if the target has a RET. */
struct sass_insn sass_call_to_branch(struct sass_insn insn);
/* Returns, as bits, the convergence barriers that the instruction names. The instruction may have any form. */
unsigned sass_barriers_named(struct sass_insn insn);

/* For VOTE and MATCH: does the instruction write only a register? The register receives the mask of the lanes whose
 * predicate holds (VOTE.ANY R, PT, P) or whose value is equal (MATCH.ANY R). */
bool sass_is_plain_vote(struct sass_insn insn);
/* The first function: is the instruction a REDUX.OR of the lanes' masks? The second function: is the instruction
 * R2UR P, URZ, R, which tests whether the masks differ? Both are replaced for a lane that runs alone. The third
 * function returns the replacement: R2UR, or a PLOP3 that writes false. */
bool sass_combines_masks(struct sass_insn insn);
bool sass_compares_masks(struct sass_insn insn);
struct sass_insn sass_to_lane_mask(struct sass_insn insn);

/* Does the instruction access memory other than local memory? Such an access has an effect outside of the lane, or
 * can fault. */
bool sass_has_effect(struct sass_insn insn);
/* Is the instruction STS, ATOMS or BAR, which probes may use only to count the lanes of a block (lane_count.h)? */
bool sass_is_count_insn(struct sass_insn insn);
/* Does the instruction read the special register with the size of the block's shared memory? */
bool sass_reads_shared_size(struct sass_insn insn);

/* Returns the number of the constant bank that the instruction reads; -1: none. */
int sass_constant_bank(struct sass_insn insn);
/* Returns the offset in bytes in that constant bank, without the index register. */
uint64_t sass_constant_offset(struct sass_insn insn);

/* Does the instruction move a constant into a register (MOV R, imm; IMAD or HFMA2 R, RZ, RZ, imm)? Then *number is
 * the constant. */
bool sass_is_constant_move(struct sass_insn insn, uint32_t *number);
/* Returns the index of the operand that the instruction copies, if it only copies a register; else -1. */
int sass_copied_operand(struct sass_insn insn);
/* Is the instruction a MOV that writes only some bytes of its destination? */
bool sass_is_partial_move(struct sass_insn insn);

/* Returns the number of the block barrier that BAR names as an immediate. */
unsigned sass_block_barrier(struct sass_insn insn);
/* Is the instruction a BAR that only arrives at its barrier, without a wait for other threads? */
bool sass_is_arrival(struct sass_insn insn);

#endif
