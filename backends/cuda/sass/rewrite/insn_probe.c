/* SPDX-License-Identifier: Apache-2.0 */
#include "stub_work.h"

#include "backends/cuda/sass/isa/constant.h"
#include "core/model/diag.h"
#include "backends/cuda/sass/isa/operands.h"
#include "backends/cuda/sass/probe/probe.h"
#include "backends/cuda/sass/analysis/live.h"

#define ALL_BOARDS 0x3f
#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */
#define STUB_EXTRA_INSNS 70        /* maximum number of instructions that a stub adds to each body: moves,
                                    * waits, the branch back */
#define OPERAND_VALUES (0xfu << SASS_INPUT_REGISTER)

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

/* -- number of registers -- */

/* Returns the number of registers that bodies and constant stubs need. If a kernel instruction with a probe reads a
 * constant, its constant stub runs between two bodies and uses the same registers. */
static uint32_t count_body_regs(const struct sass_insn_probes *insn_probes, const struct sass_code *code)
{
	uint32_t most = code->nconstants ? SASS_CONSTANT_REGISTERS : 0;

	for (uint32_t i = 0; i < insn_probes->n; i++)
		most = insn_probes->list[i].body->regs > most ? insn_probes->list[i].body->regs : most;
	return (most + 1) & ~1u;
}

uint32_t sass_insn_probes_regs(const struct sass_insn_probes *insn_probes, const struct sass_code *code)
{
	uint32_t value_reg[SASS_NINPUTS];

	return insn_probes->n ? sass_stub_assign_value_regs(insn_probes,
							    count_body_regs(insn_probes, code) + SAVED_REGS, value_reg) :
				0;
}

size_t sass_insn_probes_max_insns(const struct sass_insn_probes *insn_probes)
{
	size_t n = 0;

	for (uint32_t i = 0; i < insn_probes->n; i++)
		n += insn_probes->list[i].body->n + STUB_EXTRA_INSNS;
	return n;
}

/* -- the code -- */

/* Returns the move that replaces a load of a place value in a body. The move has the guard and waits of the load,
 * and the stall of a move. */
static struct sass_insn load_to_move(const struct stub_writer *p, const struct sass_insn_probe *at,
				     struct sass_insn insn, enum sass_input value, unsigned half)
{
	unsigned to = insn.operand[0].reg + p->out->base;
	struct sass_insn move = sass_input_is_per_lane(value) ?
					sass_move(to, sass_stub_value_reg(p, value) + half) :
					sass_move_imm(to, half ? 0 : sass_stub_place_constant(at, value));

	return sass_with_waits(sass_with_guard(move, insn.guard), sass_wait_mask(insn));
}

/* Returns an instruction of a body with its registers moved above the kernel's. */
static struct sass_insn relocate_insn(const struct stub_writer *p, const struct sass_insn_probe *at, struct sass_insn insn)
{
	enum sass_input value;
	unsigned half;

	if (sass_is_input_load(insn, &value, &half))
		return load_to_move(p, at, insn, value, half);
	sass_shift_registers(&insn, p->out->base);
	return insn;
}

/* Returns an instruction of a body with branches, with its registers moved above the kernel's. Removes the body's
 * own convergence barriers, because the kernel may use them too. So lanes reconverge only at the end of the body. */
static struct sass_insn relocate_divergent(const struct stub_writer *p, const struct sass_insn_probe *at,
					   struct sass_insn insn)
{
	uint32_t to = insn.operand[0].reg;

	if (sass_convergence_barrier(insn) < 0)
		return relocate_insn(p, at, insn);
	if (sass_opcode(insn) == SASS_OP_BMOV_CLEAR && to != SASS_RZ)
		return sass_with_waits(sass_move_imm(to + p->out->base, 0), sass_wait_mask(insn));
	return sass_nop(sass_wait_mask(insn), sass_stall(insn));
}

/* Emits a branch over the next `over` instructions for the lanes whose predicate does not hold. Emits nothing for
 * SASS_PT. */
static void emit_branch_over(struct stub_writer *p, unsigned predicate, uint32_t over)
{
	struct sass_insn bra = sass_bra(p->code->arch, (int64_t)over * SASS_INSN);

	if (predicate != SASS_PT)
		emit(p, sass_with_guard(bra, predicate ^ 8));
}

/* Emits a body with branches. Lanes for which the kernel's instruction does not execute branch around the body. The
 * lanes that entered together reconverge after the body at a barrier that only stubs use. Lanes of the same warp may
 * use this barrier in another stub at the same time. ptxas, too, uses one barrier on both sides of a branch. */
static void emit_divergent_body(struct stub_writer *p, const struct sass_insn_probe *at, unsigned guard, unsigned second)
{
	uint32_t n = at->body->n + 3, ways = (guard != SASS_PT) + (second != SASS_PT);

	emit(p, sass_bssy(p->barrier, (int64_t)(ways + n + 1) * SASS_INSN));
	emit_branch_over(p, guard, n + (second != SASS_PT));
	emit_branch_over(p, second, n);
	emit(p, sass_save_predicates(p->saved_at));
	for (uint32_t i = 0; i < at->body->n; i++)
		emit(p, relocate_divergent(p, at, at->body->insns[i]));
	emit(p, sass_nop(0, SASS_PREDICATE_CYCLES));
	emit(p, sass_restore_predicates(p->saved_at));
	emit(p, sass_bsync(p->barrier));
}

/* Emits a body. If the body writes predicates, saves the predicates before it, and restores them when all its writes
 * are complete. */
static void emit_body(struct stub_writer *p, const struct sass_insn_probe *at)
{
	uint8_t guard = at->place.guard, second = at->place.second;
	const struct sass_body *b = at->body;

	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(p->pending, 1));
	if (b->has_branches)
		return emit_divergent_body(p, at, guard, second);
	if (b->predicates)
		emit(p, sass_save_predicates(p->saved_at));
	if (b->guard != SASS_PT)
		emit(p, sass_and_predicates(b->guard, guard & 7, guard >> 3, second & 7, second >> 3));
	for (uint32_t i = 0; i < b->n; i++)
		emit(p, relocate_insn(p, at, b->insns[i]));
	if (b->predicates) {
		emit(p, sass_nop(0, SASS_PREDICATE_CYCLES));
		emit(p, sass_restore_predicates(p->saved_at));
	}
}

/* Makes the registers hold the values of the access of this place. The instruction may have two accesses, and the
 * registers may hold the values of the other access. */
static void switch_access(struct stub_writer *p, const struct sass_insn_probe *at, uint32_t values)
{
	const struct sass_access *a = &at->place.access;

	if (!gpubpf_place_kind(at->place.kind)->spaces || a->near == p->access->near)
		return;
	sass_stub_emit_access_values(p, a, values);
	p->access = a;
}

static void emit_bodies(struct stub_writer *p, uint32_t from, uint32_t to, enum gpubpf_when when, uint32_t values)
{
	for (uint32_t i = from; i < to; i++) {
		if (gpubpf_place_kind(p->insn_probes->list[i].place.kind)->when != when)
			continue;
		switch_access(p, &p->insn_probes->list[i], values);
		emit_body(p, &p->insn_probes->list[i]);
	}
}

/* Emits a wait for the predicates that the kernel's instruction writes with variable latency, if bodies follow.
 * These bodies save the predicates, so the predicates must be complete. */
static void emit_predicate_wait(struct stub_writer *p, uint32_t from, uint32_t to, struct sass_insn own)
{
	bool after = false;

	for (uint32_t i = from; i < to; i++)
		after |= gpubpf_place_kind(p->insn_probes->list[i].place.kind)->when == GPUBPF_WHEN_AFTER;
	if (!after || !sass_predicate_is_slow(own))
		return;
	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(ALL_BOARDS, 1));
}

/* Returns the access of the first memory place among list[from] to list[to - 1]. */
static const struct sass_access *find_access(const struct sass_insn_probes *insn_probes, uint32_t from, uint32_t to)
{
	while (from + 1 < to && !gpubpf_place_kind(insn_probes->list[from].place.kind)->spaces)
		from++;
	return &insn_probes->list[from].place.access;
}

/* Emits the stub of one instruction, with the bodies of list[from] to list[to - 1]. If the instruction is an EXIT,
 * it may already be a branch to the exit probe. */
static void emit_stub(struct stub_writer *p, uint32_t from, uint32_t to)
{
	uint32_t at = p->insn_probes->list[from].place.at, location = p->out->location[at], start = p->out->n, values = 0;
	const struct sass_access *access = find_access(p->insn_probes, from, to);
	struct sass_insn own = p->out->insns[location], was = sass_code_at(p->code, at);
	unsigned waits = sass_wait_mask(own) | p->pending | (p->code->slow_predicates ? ALL_BOARDS : 0);

	for (uint32_t i = from; i < to; i++)
		values |= p->insn_probes->list[i].body->place_values;
	p->out->insns[location] = sass_bra(p->code->arch, ((int64_t)start - location - 1) * SASS_INSN);
	emit(p, sass_nop(waits, SASS_PREDICATE_CYCLES - MIN_BRANCH_CYCLES));
	p->access = access;
	sass_stub_emit_access_values(p, access, values);
	sass_stub_emit_branch_values(p, was, values);
	sass_stub_emit_operands(p, was, values);
	emit_bodies(p, from, to, GPUBPF_WHEN_BEFORE, values);
	p->out->location[at] = p->out->n;
	emit(p, sass_relocate_own_insn(p->code->arch, own, at, p->out->n));
	if (values >> SASS_INPUT_OLD & 1)
		sass_stub_emit_old_value(p, access, own);
	emit_predicate_wait(p, from, to, own);
	emit_bodies(p, from, to, GPUBPF_WHEN_AFTER, values);
	emit(p, sass_bra(p->code->arch, ((int64_t)location - p->out->n) * SASS_INSN));
}

/* -- checks -- */

static int check_place(const struct stub_writer *p, const struct sass_insn_probe *at, struct gpubpf_diag *diag)
{
	const struct sass_code *code = p->code;
	struct sass_insn own = sass_code_at(code, at->place.at);
	bool old = at->body->place_values >> SASS_INPUT_OLD & 1 && at->place.access.old != SASS_RZ;

	if (at->place.why)
		return refuse(diag, "its instruction at 0x%x (%s) is %s, which a probe in machine code cannot observe",
			      at->place.at * SASS_INSN, sass_op(own)->name, at->place.why);
	if (at->body->place_values >> SASS_INPUT_ADDRESS & 1 && at->place.access.near)
		return refuse(diag,
			      "its access at 0x%x has no generic address in machine code; read mem.offset, the "
			      "offset in its space, and not mem.addr",
			      at->place.at * SASS_INSN);
	if (at->body->place_values >> SASS_INPUT_OFFSET & 1 && gpubpf_place_kind(at->place.kind)->spaces &&
	    sass_stub_access_space(&at->place.access) == GPUBPF_GENERIC)
		return refuse(diag,
			      "its access at 0x%x may be in one of several spaces, so it has no offset; read "
			      "mem.addr, and not mem.offset",
			      at->place.at * SASS_INSN);
	if (old && sass_write_board(own) == SASS_NO_SCOREBOARD)
		return refuse(diag,
			      "its instruction at 0x%x has no scoreboard, so no probe can wait for its "
			      "result",
			      at->place.at * SASS_INSN);
	if (at->body->place_values & OPERAND_VALUES && !sass_operands_known(code->arch, own))
		return refuse(diag,
			      "its instruction at 0x%x (%s) has operands whose registers are not "
			      "known",
			      at->place.at * SASS_INSN, sass_op(own)->name);
	if (!sass_is_relocatable(code, at->place.at))
		return refuse(diag,
			      "its instruction at 0x%x cannot execute at another address, as a probe "
			      "requires",
			      at->place.at * SASS_INSN);
	if (at->body->has_branches && p->barrier == SASS_BARRIERS)
		return refuse(diag,
			      "it uses all convergence barriers, so lanes of its probe at 0x%x could not "
			      "reconverge",
			      at->place.at * SASS_INSN);
	if (code->calls)
		return refuse(diag, "it calls functions in other sections, whose instructions would have no probes");
	return 0;
}

int sass_emit_insn_probes(const struct sass_insn_probes *insn_probes, const struct sass_code *code, unsigned left,
			  struct sass_patched_code *out, struct gpubpf_diag *diag)
{
	struct stub_writer p = { .insn_probes = insn_probes,
				 .code = code,
				 .out = out,
				 .pending = left,
				 .barrier = sass_find_free_barrier(code) };
	int err = 0;

	p.saved_at = out->base + count_body_regs(insn_probes, code);
	sass_stub_assign_value_regs(insn_probes, p.saved_at + SAVED_REGS, p.value_reg);
	for (uint32_t i = 0, to; !err && i < insn_probes->n; i = to) {
		for (to = i;
		     !err && to < insn_probes->n && insn_probes->list[to].place.at == insn_probes->list[i].place.at; to++)
			err = check_place(&p, &insn_probes->list[to], diag);
		if (!err)
			emit_stub(&p, i, to);
	}
	return err;
}
