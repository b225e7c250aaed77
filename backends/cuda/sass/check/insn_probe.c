/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks the stubs of instruction probes. At such a probe every register of the kernel may be live.
 *
 * 1. A stub is straight-line code, except for branches inside a probe. The lanes of a probe with branches reconverge at
 *    a convergence barrier that the kernel does not use.
 * 2. The kernel's instruction executes once, unchanged, with the predicate values that it has in the kernel.
 * 3. The stub writes only registers above the kernel's. Only instructions that read their operands at issue read the
 *    kernel's registers.
 * 4. The stub restores the predicates.
 * 5. The stub waits for scoreboards that other probes leave set.
 * 6. A probe has effects only for lanes for which the kernel's instruction executes.
 */
#include <string.h>

#include "work.h"
#include "backends/cuda/sass/isa/constant.h"
#include "backends/cuda/sass/analysis/live.h"

#define ALL_BOARDS 0x3f
#define REGCOUNT_EXTRA 3
#define NO_REGISTER 256

struct stub {
	struct checked *c;
	uint32_t at, from; /* `at` is the index of the kernel's instruction. `from` is the index of the branch to
	                    * this stub, either `at` or the index of the copy of that instruction. */
	struct sass_insn own;
	bool at_function;          /* the place is the first instruction of a function. No guard is needed, because
	                            * all lanes of a call reach it. */
	bool executed;             /* the kernel's instruction has executed in the stub */
	unsigned result_board;     /* scoreboard, as a bit, that the kernel's instruction sets for its result and
	                            * that no wait has covered, or 0 */
	unsigned predicate_boards; /* scoreboards that the kernel's instruction sets for a predicate with variable
	                            * latency and that no wait has covered */
	uint32_t saved_reg;        /* the register that holds the saved predicates; NO_REGISTER: they are not saved */
	/* changed_predicates: predicates whose value differs from the kernel's. guard_predicates: predicates that are
	 * true only for lanes for which the kernel's instruction executes. */
	unsigned changed_predicates, guard_predicates;
	uint32_t time;                  /* cycles since the stub began */
	unsigned pending;               /* scoreboards that are still set when a probe ends */
	uint32_t bsync;                 /* index of the BSYNC at which the lanes that entered the stub reconverge;
	                                 * SASS_NONE: outside of BSSY and BSYNC */
	uint32_t skip_target;           /* target of the branch that skips the probe for lanes whose instruction does
	                                 * not execute; SASS_NONE: no such branch */
	uint32_t saved_at, last_target; /* saved_at: index of the P2R that saved the predicates. last_target: highest
	                                 * target of the branches since then. */
};

/* Returns the copy of the kernel's instruction that the stub must have at index i. If the twin has an exit probe,
 * the copy of an EXIT is a branch to that probe. */
static struct sass_insn get_expected_insn(const struct stub *s, uint32_t i)
{
	struct sass_insn own = sass_predicate_lacks_board(s->c->code->arch, s->own) ? sass_with_predicate_board(s->own) :
										      s->own;

	if (sass_opcode(own) == SASS_OP_EXIT && s->c->exit != SASS_NONE)
		own = sass_with_branch(s->c->code->arch, sass_with_opcode(own, SASS_OP_BRA),
				       ((int64_t)s->c->exit - s->at - 1) * SASS_INSN);
	return sass_relocate_own_insn(s->c->code->arch, own, s->at, i);
}

/* Returns the guard under which the kernel's instruction executes. Returns SASS_PT for a branch, because its
 * predicate only selects the target, and for an instruction that never executes. */
static unsigned own_guard(const struct stub *s)
{
	return sass_is(s->own, SASS_OPERATION_BRA) || s->own.guard == (SASS_PT | 8) ? SASS_PT : s->own.guard;
}

/* Returns true if the value of `predicate`, negated if `negated`, implies the guard of the kernel's instruction. */
static bool implies_own_guard(const struct stub *s, unsigned predicate, bool negated)
{
	bool own = predicate == (own_guard(s) & 7) && negated == own_guard(s) >> 3;

	if (own_guard(s) == SASS_PT || s->skip_target != SASS_NONE || s->at_function)
		return true;
	return predicate != SASS_PT &&
	       ((own && !(s->changed_predicates >> predicate & 1)) || (!negated && s->guard_predicates >> predicate & 1));
}

/* Returns true if the instruction is a PLOP3 that ANDs three predicates and one of them implies the guard of the
 * kernel's instruction. Then the result implies that guard too. */
static bool is_conjunction(const struct stub *s, struct sass_insn insn)
{
	static const enum sass_predicate_field inputs[] = { SASS_P_IN, SASS_P_CARRY, SASS_P_EX };

	if (!sass_is_and_of_predicates(insn))
		return false;
	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
		if (implies_own_guard(s, sass_predicate(insn, inputs[i]), sass_predicate_is_negated(insn, inputs[i])))
			return true;
	return false;
}

/* -- an instruction of a probe -- */

/* Returns true if operand x overlaps the registers that the kernel's instruction may write. That instruction writes
 * at most four registers, and none above the kernel's registers. */
static bool uses_own_result(const struct stub *s, const struct sass_operand *x)
{
	uint32_t first = sass_operand_bits(s->own, 0);

	return first != SASS_RZ && x->reg < s->c->regs && x->reg < first + 4 && first < (uint32_t)x->reg + x->n;
}

static int check_registers(struct stub *s, uint32_t i, struct sass_insn insn)
{
	bool fixed = sass_op(insn)->class == SASS_FIXED;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		if (!x.n || x.uniform)
			continue;
		if (s->result_board && !x.written && uses_own_result(s, &x))
			return sass_check_fail(s->c, i,
					       "a probe does not wait for the result of the kernel's "
					       "instruction");
		if ((x.written || !fixed) && x.reg < s->c->regs)
			return sass_check_fail(s->c, i,
					       "a probe writes a register of the kernel, or reads one after "
					       "issue");
		if ((uint32_t)x.reg + x.n + REGCOUNT_EXTRA - 1 > s->c->new_regs)
			return sass_check_fail(s->c, i, "a probe uses more registers than the twin declares");
		if (x.written && x.reg <= s->saved_reg && s->saved_reg < (uint32_t)x.reg + x.n)
			return sass_check_fail(s->c, i, "a probe overwrites the saved predicates");
	}
	return 0;
}

/* -- divergence: all lanes that execute a BSSY reach its BSYNC -- */

/* Returns true if the instruction is a branch under the negated guard of the kernel's instruction, before the probe
 * saves or changes a predicate. */
static bool branches_over_body(const struct stub *s, struct sass_insn insn)
{
	return insn.guard == (s->own.guard ^ 8) && insn.in == SASS_PT && !s->changed_predicates &&
	       s->saved_reg == NO_REGISTER;
}

static int check_bssy(struct stub *s, uint32_t i, struct sass_insn insn)
{
	int64_t end = sass_check_target(s->c, i);
	unsigned barrier = sass_convergence_barrier(insn);

	if (s->bsync != SASS_NONE || s->saved_reg != NO_REGISTER || end <= (int64_t)i + 1 || end > s->c->ninsns ||
	    s->c->code->barriers_used >> barrier & 1 ||
	    !same_except_control(insn, sass_bssy(barrier, (end - i - 1) * SASS_INSN)) ||
	    !same_except_control(insn_at(s->c, end - 1), sass_bsync(barrier)))
		return sass_check_fail(s->c, i, "lanes of a probe diverge without a BSYNC that reconverges them");
	s->bsync = end - 1;
	return 0;
}

static int check_branch(struct stub *s, uint32_t i, struct sass_insn insn)
{
	int64_t to = sass_check_target(s->c, i);

	if (!sass_is_probe_insn(s->c->code->arch, insn) || s->bsync == SASS_NONE)
		return sass_check_fail(s->c, i,
				       "lanes of a probe diverge by an unknown branch, or outside of BSSY "
				       "and BSYNC");
	if (s->saved_reg == NO_REGISTER) {
		if (to != s->bsync)
			return sass_check_fail(s->c, i, "a branch around a probe does not go to its BSYNC");
		s->skip_target = s->skip_target == SASS_NONE && branches_over_body(s, insn) ? to : s->skip_target;
		return 0;
	}
	if (to <= s->saved_at || to >= s->bsync)
		return sass_check_fail(s->c, i, "a probe branches out of its code");
	s->last_target = to > s->last_target ? to : s->last_target;
	return 0;
}

static int check_bsync(struct stub *s, uint32_t i)
{
	if (s->saved_reg != NO_REGISTER || s->changed_predicates)
		return sass_check_fail(s->c, i, "lanes of a probe reconverge before the predicates are restored");
	s->bsync = s->skip_target = SASS_NONE;
	return 0;
}

static int check_predicates(struct stub *s, uint32_t i, struct sass_insn insn)
{
	unsigned written = sass_predicates_written(insn), narrowed = is_conjunction(s, insn) ? 1u << insn.out : 0;

	if (written && s->saved_reg == NO_REGISTER)
		return sass_check_fail(s->c, i, "a probe writes a predicate that is not saved");
	if (sass_has_effect(insn) && !implies_own_guard(s, (insn.guard & SASS_PT), insn.guard >> 3))
		return sass_check_fail(s->c, i,
				       "a probe has an effect for lanes that do not execute the kernel's "
				       "instruction");
	s->changed_predicates |= written;
	s->guard_predicates = (s->guard_predicates & ~written) | (narrowed & written);
	return 0;
}

static int check_save(struct stub *s, uint32_t i, uint32_t reg)
{
	if (s->changed_predicates || s->predicate_boards || s->time < SASS_CHECK_PREDICATE_CYCLES || reg < s->c->regs ||
	    reg + REGCOUNT_EXTRA > s->c->new_regs)
		return sass_check_fail(s->c, i, "a probe saves predicates that have changed or are not yet complete");
	s->saved_reg = reg;
	s->saved_at = i;
	s->last_target = 0;
	return 0;
}

static int check_restore(struct stub *s, uint32_t i, uint32_t reg)
{
	if (reg != s->saved_reg || sass_stall(insn_at(s->c, i)) < SASS_PREDICATE_CYCLES || s->last_target > i)
		return sass_check_fail(s->c, i, "predicates are not restored");
	s->saved_reg = NO_REGISTER;
	s->changed_predicates = s->guard_predicates = 0;
	return 0;
}

static int check_body_insn(struct stub *s, uint32_t i, struct sass_insn insn)
{
	uint32_t to = insn.operand[0].reg, from = insn.operand[1].reg;
	int err;

	if (insn.opcode == SASS_OP_P2R && same_except_control(insn, sass_save_predicates(to)))
		return check_save(s, i, to);
	if (insn.opcode == SASS_OP_R2P && same_except_control(insn, sass_restore_predicates(from)))
		return check_restore(s, i, from);
	if (i == s->bsync)
		return check_bsync(s, i);
	if (sass_opcode(insn) == SASS_OP_BSSY)
		return check_bssy(s, i, insn);
	if (sass_opcode(insn) == SASS_OP_BRA)
		return check_branch(s, i, insn);
	if ((!sass_is_probe_insn(s->c->code->arch, insn) || sass_is_uniform(insn)) &&
	    !same_except_control(insn, sass_move_uniform(to, insn.operand[2].reg & SASS_URZ)) &&
	    !same_except_control(insn,
				 sass_and_predicates_uniform(insn.out, insn.in, insn.carry, sass_third_predicate(insn))))
		return sass_check_fail(s->c, i, "a probe has an instruction that is unknown or uniform");
	if (!sass_is_lane_independent(insn) && sass_opcode(insn) != SASS_OP_YIELD)
		return sass_check_fail(s->c, i, "a probe has an instruction that depends on other lanes");
	err = check_registers(s, i, insn);
	s->pending = sass_pending_boards(s->pending, s->bsync == SASS_NONE ? insn : sass_with_waits(insn, 0));
	return err ? err : check_predicates(s, i, insn);
}

/* -- a stub -- */

/* Does the kernel's instruction read a __constant__ variable? Then the stub has a branch to a constant stub in place
 * of the instruction. The constant stub leaves nothing in flight. */
static bool reads_constant(const struct stub *s)
{
	return sass_constant_bank(s->own) == SASS_CONSTANTS_BANK;
}

/* Is instruction i the stub's copy of the kernel's instruction? The copy must execute once, for all lanes that
 * entered, with unchanged predicates. An equal instruction inside a probe, such as a NOP or a fence, is not the
 * copy. */
static bool is_own_insn(const struct stub *s, uint32_t i, struct sass_insn insn)
{
	if (s->executed || s->changed_predicates || s->bsync != SASS_NONE)
		return false;
	if (reads_constant(s))
		return insn.opcode == SASS_OP_BRA;
	return (insn.opcode == SASS_OP_BRA || insn.opcode == s->own.opcode) && same(insn, get_expected_insn(s, i));
}

static void record_own(struct stub *s, uint32_t i)
{
	s->executed = true;
	s->predicate_boards = sass_predicate_is_slow(insn_at(s->c, i)) ? sass_boards_set(insn_at(s->c, i)) : 0;
	s->result_board = sass_write_board(s->own) == SASS_NO_SCOREBOARD || reads_constant(s) ?
				  0 :
				  1u << sass_write_board(s->own);
	s->c->location[s->at] = i;
	s->c->stub_flags[i - s->c->first_stub] |= SASS_IN_STUB_OWN;
}

static bool is_branch_back(const struct stub *s, uint32_t i, struct sass_insn insn)
{
	return insn.opcode == SASS_OP_BRA && same(insn, sass_bra(s->c->code->arch, ((int64_t)s->from - i) * SASS_INSN));
}

/* Checks the first NOP of a stub. The NOP must wait for the scoreboards that the kernel's instruction waits for, and
 * for the scoreboards `left` that other probes leave set. If the kernel writes predicates with variable latency, the
 * NOP must wait for all scoreboards. */
static int check_start(struct stub *s, uint32_t i, unsigned left)
{
	struct sass_insn first = insn_at(s->c, i);
	unsigned waits = sass_wait_mask(s->own) | left | (s->c->code->slow_predicates ? ALL_BOARDS : 0);

	if (sass_opcode(first) != SASS_OP_NOP || waits & ~sass_wait_mask(first))
		return sass_check_fail(s->c, i, "a stub does not wait for operations in flight");
	return 0;
}

static int check_stub(struct stub *s, uint32_t from, unsigned left)
{
	int err = check_start(s, from, left);

	for (uint32_t i = from; !err && i < s->c->ninsns; i++) {
		struct sass_insn insn = insn_at(s->c, i);

		if (s->c->stub_flags[i - s->c->first_stub])
			return sass_check_fail(s->c, i, "two instructions branch to the same stub");
		s->c->stub_flags[i - s->c->first_stub] = SASS_IN_STUB;
		s->result_board &= s->bsync == SASS_NONE ? ~sass_wait_mask(insn) : UINT32_MAX;
		s->predicate_boards &= ~sass_wait_mask(insn);
		if (is_branch_back(s, i, insn))
			return s->executed && !s->changed_predicates && s->saved_reg == NO_REGISTER &&
					       s->bsync == SASS_NONE ?
				       0 :
				       sass_check_fail(s->c, i,
						       "a stub branches back before the instruction executed or the "
						       "predicates are restored");
		if (is_own_insn(s, i, insn))
			record_own(s, i);
		else
			err = check_body_insn(s, i, insn);
		s->time += sass_min_cycles(insn);
	}
	return err ? err : sass_check_fail(s->c, from, "a stub does not branch back to the kernel");
}

static bool is_nop(struct sass_insn insn)
{
	return insn.opcode == SASS_OP_NOP && same_except_control(insn, sass_nop(0, 0));
}

int sass_check_unclaimed(struct checked *c)
{
	for (uint32_t i = c->first_stub; i < c->ninsns; i++) {
		struct sass_insn insn = insn_at(c, i);

		if (!c->stub_flags[i - c->first_stub] && !is_nop(insn) && !same(insn, sass_bra(c->code->arch, -SASS_INSN)))
			return sass_check_fail(c, i, "an instruction belongs to no stub");
	}
	return 0;
}

int sass_check_insn_probes(struct checked *c)
{
	unsigned left = sass_check_entry_pending(c) | sass_insn_probes_pending(c->insn_probes);
	unsigned found = 0;
	uint32_t before = SASS_NONE;
	int err = c->insn_probes->n ? sass_check_predicate_boards(c) : 0;

	for (uint32_t k = 0; !err && k < c->insn_probes->n; k++) {
		uint32_t at = c->insn_probes->list[k].place.at;
		int64_t to = sass_check_target(c, c->location[at]);
		struct stub s = { .c = c,
				  .at = at,
				  .from = c->location[at],
				  .own = sass_code_at(c->code, at),
				  .saved_reg = NO_REGISTER,
				  .bsync = SASS_NONE,
				  .skip_target = SASS_NONE,
				  .at_function = c->insn_probes->list[k].place.kind == GPUBPF_SITE_CALL };

		if (at == before)
			continue;
		before = at;
		if (to < c->first_stub || to >= c->ninsns)
			return sass_check_fail(c, at, "an instruction does not branch to its stub");
		err = check_stub(&s, to, left);
		found |= s.pending;
	}
	if (!err && found & ~left)
		err = sass_check_fail(c, c->first_stub,
				      "a probe leaves operations in flight that other probes do not wait for");
	if (!err && c->exit != SASS_NONE && left & ~sass_check_exit_waits(c))
		err = sass_check_fail(c, c->exit,
				      "an exit's probe does not wait for work that other probes left in "
				      "flight");
	return err;
}
