/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     emits the exit probe: its waits, its code for converged warps, and its code that each lane runs separately.
 * Before:   the kernel's code is in p->out. Registers, barriers and predicates are mapped.
 * After:    each EXIT of the kernel branches to the probe.
 * Requires: if the probe has barriers, it has only votes that a lane can compute for itself (can_run_per_lane()).
 */
#include "patch_work.h"

#include "backends/cuda/sass/isa/scoreboard.h"
#include "backends/cuda/sass/probe/schedule.h"

#define MAX_FIXED_STALLS 3         /* number of stalls of SASS_STALL_MAX cycles until even the slowest fixed-latency
                                    * result (HMMA) is ready */

static struct sass_insn relocate_exit_insn(const struct patch_ctx *p, struct sass_insn insn)
{
	int fields = p->uses_free_predicates ? sass_predicate_fields(insn) : 0;

	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
		if (fields >> f & 1)
			insn = sass_with_predicate(insn, f, p->predicate[sass_predicate(insn, f)]);
	return sass_patch_relocate_insn(p, insn, p->barrier);
}

/* Returns the number of cycles from the first instruction of the probe to its first predicate write, at most
 * SASS_PREDICATE_CYCLES. */
static unsigned count_cycles_to_predicate(const struct sass_probe *probe)
{
	unsigned time = 0;

	for (uint32_t i = 0; i < probe->n && time < SASS_PREDICATE_CYCLES; i++) {
		if (sass_predicates_written(probe->insns[i]))
			return time;
		time += sass_stall(probe->insns[i]);
	}
	return SASS_PREDICATE_CYCLES;
}

/* Emits waits at the start of the exit probe. After them the kernel no longer reads or writes the registers and
 * predicates that the probe writes. Returns scoreboards for which the first instruction of the probe itself must
 * wait. */
static unsigned emit_exit_waits(struct patch_ctx *p)
{
	unsigned time = p->exit->barriers       ? SASS_VOTE_CYCLES :
			p->uses_free_predicates ? SASS_PREDICATE_CYCLES :
						  count_cycles_to_predicate(p->exit);
	bool late = sass_patch_may_clobber_predicates(p) && p->code->slow_predicates, falls = p->code->tail != SASS_NONE;
	unsigned waits = falls ? sass_wait_mask(sass_code_at(p->code, p->code->tail)) : 0;

	waits |= late ? SASS_ALL_BOARDS : p->pending;
	time += falls ? 0 : MIN_BRANCH_CYCLES;
	if (falls && (late || !p->regs_above_kernel)) /* a wait does not see a scoreboard that the instruction before
	                                               * it has set */
		emit(p, sass_nop(0, MIN_BRANCH_CYCLES));
	if (!p->regs_above_kernel) {
		emit(p, sass_nop(SASS_ALL_BOARDS, SASS_STALL_MAX));
		for (int i = 1; i < MAX_FIXED_STALLS; i++)
			emit(p, sass_nop(0, SASS_STALL_MAX));
	} else if (time < SASS_PREDICATE_CYCLES || (waits && p->exit->barriers)) {
		emit(p, sass_nop(waits, time < SASS_PREDICATE_CYCLES ? SASS_PREDICATE_CYCLES - time : 1));
	} else {
		return waits;
	}
	return 0;
}

/* Returns an instruction of the exit probe for a lane that executes it separately. Other lanes of the warp may run
 * the same code, so the lane uses no convergence barrier. The lane acts as a warp of one lane, which is always
 * converged. */
static struct sass_insn to_single_lane(const struct patch_ctx *p, struct sass_insn insn)
{
	bool converges = sass_convergence_barrier(insn) >= 0 || sass_opcode(insn) == SASS_OP_WARPSYNC_ALL;

	if (sass_opcode(insn) == SASS_OP_VOTE)
		return sass_vote_alone(sass_patch_relocate_insn(p, insn, p->barrier), lane_bit_reg(p));
	if (sass_opcode(insn) == SASS_OP_MATCH)
		return sass_match_alone(sass_patch_relocate_insn(p, insn, p->barrier), lane_bit_reg(p));
	if (sass_opcode(insn) == SASS_OP_BMOV_CLEAR && insn.operand[0].reg != SASS_RZ) /* BMOV reads the mask of the
	                                                                                * lanes at the barrier, which
	                                                                                * is 0 */
		return sass_with_waits(sass_move_imm(insn.operand[0].reg + p->out->base, 0), sass_wait_mask(insn));
	return converges ? sass_nop(sass_wait_mask(insn), sass_stall(insn)) :
			   sass_patch_relocate_insn(p, insn, p->barrier);
}

/* Emits the test whether all lanes of the warp are converged, and the probe for a converged warp. This probe uses
 * the barriers that its compiler has chosen, because no other lane can use them then. Instructions without a mask
 * (SHFL) may rely on convergence too. If the warp is not converged, lanes branch to the code that each lane runs
 * separately, which follows. */
static void emit_converged_path(struct patch_ctx *p)
{
	static const uint8_t own[SASS_BARRIERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct sass_insn apart = sass_bra(p->code->arch, (int64_t)p->exit->n * SASS_INSN);

	emit(p, sass_vote(p->out->base));
	emit(p, sass_isetp_imm(0, p->out->base, UINT32_MAX, false));
	emit(p, sass_under(apart, 0));
	for (uint32_t i = 0; i < p->exit->n; i++)
		emit(p, sass_patch_relocate_insn(p, p->exit->insns[i], own));
	emit(p, sass_lane_bit(lane_bit_reg(p)));
	emit(p, sass_nop(1, 1));
}

/* Returns true if all votes of the probe only write a register. The register receives the mask of the lanes whose
 * predicate holds (VOTE.ANY R, PT, P) or whose value is equal (MATCH.ANY R). A lane that runs alone can compute such
 * a mask. */
static bool can_run_per_lane(const struct sass_probe *probe)
{
	for (uint32_t i = 0; i < probe->n; i++) {
		struct sass_insn insn = probe->insns[i];

		if ((insn.opcode == SASS_OP_VOTE || insn.opcode == SASS_OP_MATCH) && !sass_is_plain_vote(insn))
			return false;
	}
	return true;
}

int sass_patch_emit_exit(struct patch_ctx *p)
{
	uint32_t first;
	unsigned waits;

	if (p->exit->barriers && !can_run_per_lane(p->exit))
		return refuse(p->diag, "its probe at the exit has a vote that a lane cannot compute without other lanes");
	if (p->code->tail != SASS_NONE)
		p->out->n = p->code->tail;
	p->out->exit = p->out->n;
	waits = emit_exit_waits(p);
	first = p->out->n;
	if (p->exit->barriers)
		emit_converged_path(p);
	for (uint32_t i = 0; i < p->exit->n; i++)
		emit(p, p->exit->barriers ? to_single_lane(p, p->exit->insns[i]) :
					    relocate_exit_insn(p, p->exit->insns[i]));
	p->out->insns[first] = sass_with_waits(p->out->insns[first], sass_wait_mask(p->out->insns[first]) | waits);
	for (uint32_t i = 0; i < p->code->nexits; i++) {
		uint32_t at = p->code->exits[i];
		struct sass_insn *insn = &p->out->insns[at];

		if (at == p->code->tail)
			continue;
		*insn = sass_with_branch(p->code->arch, sass_with_opcode(*insn, SASS_OP_BRA),
					 ((int64_t)p->out->exit - at - 1) * SASS_INSN);
	}
	return 0;
}
