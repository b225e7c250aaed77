/* SPDX-License-Identifier: Apache-2.0 */
#include "insn_probe.h"

#include "backends/cuda/sass/analysis/constant.h"
#include "core/model/diag.h"
#include "patch.h"
#include "backends/cuda/sass/isa/operands.h"
#include "backends/cuda/sass/probe/probe.h"
#include "backends/cuda/sass/analysis/live.h"

#define ALL_BOARDS 0x3f
#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */
#define STUB_EXTRA_INSNS 70        /* instructions of a stub outside of bodies: moves, waits, the branch back */
#define OPERAND_VALUES (0xfu << SASS_INPUT_REGISTER)
#define SAVED_REGS 2               /* registers after the bodies': saved predicates, and a scratch register */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

struct stub_writer {
	const struct sass_insn_probes *around;
	const struct sass_code *code;
	struct sass_patched_code *out;
	unsigned pending;
	unsigned barrier;          /* a convergence barrier that the kernel does not use; SASS_BARRIERS: there is
	                            * none */
	uint32_t saved_at;         /* the first of the SAVED_REGS registers */
	uint32_t given[SASS_NINPUTS]; /* registers of the place's values, two each */
	const struct sass_access *access; /* the access whose values are in registers; it changes between bodies if the
	                                   * instruction has two accesses */
};

/* -- which registers -- */

/* The stub of a constant read uses the first of these registers too, between the bodies of a place. */
static uint32_t count_body_regs(const struct sass_insn_probes *around, const struct sass_code *code)
{
	uint32_t most = code->nconstants ? SASS_CONSTANT_REGISTERS : 0;

	for (uint32_t i = 0; i < around->n; i++)
		most = around->list[i].body->regs > most ? around->list[i].body->regs : most;
	return (most + 1) & ~1u;
}

/* In global memory the offset is the address; a near space has only the offset. So both share registers. */
static enum sass_input shared_value(enum sass_input given)
{
	return given == SASS_INPUT_OFFSET ? SASS_INPUT_ADDRESS : given;
}

/* Allocates registers from `at` on for the per-lane values that bodies read. Returns the first register after them. */
static uint32_t assign_value_regs(const struct sass_insn_probes *around, uint32_t at, uint32_t given[SASS_NINPUTS])
{
	uint32_t read = 0;

	for (uint32_t i = 0; i < around->n; i++)
		read |= around->list[i].body->given;
	for (enum sass_input g = 0; g < SASS_NINPUTS; g++)
		if (read >> g & 1 && shared_value(g) != g)
			read |= 1u << shared_value(g);
	for (enum sass_input g = 0; g < SASS_NINPUTS; g++) {
		given[g] = at;
		at += read >> g & 1 && sass_input_is_per_lane(g) && shared_value(g) == g ? 2 : 0;
	}
	return at;
}

uint32_t sass_insn_probes_regs(const struct sass_insn_probes *around, const struct sass_code *code)
{
	uint32_t given[SASS_NINPUTS];

	return around->n ? assign_value_regs(around, count_body_regs(around, code) + SAVED_REGS, given) : 0;
}

unsigned sass_insn_probes_pending(const struct sass_insn_probes *around)
{
	unsigned left = 0;

	for (uint32_t i = 0; i < around->n; i++)
		left |= around->list[i].body->left;
	return left;
}

size_t sass_insn_probes_max_insns(const struct sass_insn_probes *around)
{
	size_t n = 0;

	for (uint32_t i = 0; i < around->n; i++)
		n += around->list[i].body->n + STUB_EXTRA_INSNS;
	return n;
}

/* -- the code -- */

static void emit(struct stub_writer *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

static uint32_t value_reg(const struct stub_writer *p, enum sass_input given)
{
	return p->given[shared_value(given)];
}

static void emit_address(struct stub_writer *p, const struct sass_access *a)
{
	uint32_t to = value_reg(p, SASS_INPUT_ADDRESS), from = a->address, one = p->saved_at + 1;
	bool uniform = a->uniform != SASS_URZ;

	for (unsigned i = 0; i < 2 && (uniform || !a->offset); i++)
		emit(p, uniform ? sass_move_uniform(to + i, a->uniform + i) :
				  sass_move(to + i, from == SASS_RZ ? SASS_RZ : from + i));
	if (!a->offset)
		return;
	emit(p, sass_move_imm(one, 1));
	emit(p, sass_mul_add_wide(to, one, a->offset, uniform ? to : from));
}

/* IMAD of the register, its scale, and the uniform register. */
static void emit_offset(struct stub_writer *p, const struct sass_access *a)
{
	uint32_t to = value_reg(p, SASS_INPUT_ADDRESS);
	bool uniform = a->uniform != SASS_URZ;

	if (uniform)
		emit(p, sass_move_uniform(to, a->uniform));
	emit(p, sass_mul_add(to, a->address, a->scale, uniform ? to : SASS_RZ));
	if (a->offset)
		emit(p, sass_add_imm(to, a->offset));
	emit(p, sass_move(to + 1, SASS_RZ));
}

static void emit_value(struct stub_writer *p, const struct sass_access *a, enum sass_input given)
{
	unsigned first = given == SASS_INPUT_VALUE_HIGH ? 2 : 0;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t to = value_reg(p, given) + i, from = first + i < a->nvalue && a->value != SASS_RZ ? a->value + first + i :
											 SASS_RZ;

		emit(p, a->bytes < 4 && !first && !i ? sass_and_imm(to, from, (1u << 8 * a->bytes) - 1) : sass_move(to, from));
	}
}

/* Two words from the n registers at `from`; 0 where there are fewer. */
static void emit_words(struct stub_writer *p, enum sass_input given, uint32_t from, uint32_t n)
{
	for (unsigned i = 0; i < 2; i++)
		emit(p, sass_move(value_reg(p, given) + i, i < n && from != SASS_RZ ? from + i : SASS_RZ));
}

/* The mask of the lanes that take the branch: both predicates must hold. */
static void emit_taken_mask(struct stub_writer *p, uint32_t to, unsigned guard, unsigned second)
{
	uint32_t one = p->saved_at + 1;

	emit(p, sass_with_field(sass_vote(to), 87, 4, guard));
	if (second == SASS_PT)
		return;
	emit(p, sass_with_field(sass_vote(one), 87, 4, second));
	emit(p, sass_and(to, to, one));
}

/* BRA.U also depends on a uniform predicate. The stub saves the predicates and writes the conjunction of all to this
 * one. */
#define COMBINED_PREDICATE 0

static void emit_branch_values(struct stub_writer *p, struct sass_insn own, uint32_t given)
{
	unsigned guard = sass_field(own, 12, 4), second = sass_field(own, 87, 4);
	bool warps = sass_opcode(own) == SASS_OP_BRA_U && given & (1u << SASS_INPUT_LANES | 1u << SASS_INPUT_TAKEN);

	if (warps) {
		emit(p, sass_save_predicates(p->saved_at));
		emit(p, sass_and_predicates_uniform(COMBINED_PREDICATE, guard, second, sass_field(own, 24, 4)));
		guard = COMBINED_PREDICATE;
		second = SASS_PT;
	}
	for (enum sass_input g = SASS_INPUT_LANES; g <= SASS_INPUT_ACTIVE; g++)
		if (given >> g & 1)
			emit(p, sass_move(value_reg(p, g) + 1, SASS_RZ));
	if (given >> SASS_INPUT_TAKEN & 1) {
		uint32_t to = value_reg(p, SASS_INPUT_TAKEN);

		emit(p, sass_move_imm(to, 0));
		emit(p, sass_with_field(sass_move_imm(to, 1), 12, 4, guard));
		if (second != SASS_PT)
			emit(p, sass_with_field(sass_move_imm(to, 0), 12, 4, second ^ 8));
	}
	if (given >> SASS_INPUT_LANES & 1)
		emit_taken_mask(p, value_reg(p, SASS_INPUT_LANES), guard, second);
	if (given >> SASS_INPUT_ACTIVE & 1)
		emit(p, sass_vote(value_reg(p, SASS_INPUT_ACTIVE)));
	if (warps) {
		emit(p, sass_nop(0, SASS_PREDICATE_CYCLES));
		emit(p, sass_restore_predicates(p->saved_at));
	}
}

/* The lower 64 bits of each operand; 0 where the instruction names fewer operands. */
static void emit_operands(struct stub_writer *p, struct sass_insn own, uint32_t given)
{
	struct sass_operand named[SASS_OPERANDS];
	unsigned n = sass_operands_named(p->code->arch, own, named);

	for (unsigned i = 0; i < SASS_OPERANDS; i++)
		for (unsigned half = 0; given >> (SASS_INPUT_REGISTER + i) & 1 && half < 2; half++) {
			const struct sass_operand *o = i < n && half < named[i].n ? &named[i] : NULL;
			uint32_t to = value_reg(p, SASS_INPUT_REGISTER + i) + half;

			emit(p, o && o->uniform ? sass_move_uniform(to, o->reg + half) : sass_move(to, o ? o->reg + half : SASS_RZ));
		}
}

static void emit_access_values(struct stub_writer *p, const struct sass_access *a, uint32_t given)
{
	if (given & (1u << SASS_INPUT_ADDRESS | 1u << SASS_INPUT_OFFSET))
		a->near ? emit_offset(p, a) : emit_address(p, a);
	for (enum sass_input g = SASS_INPUT_VALUE; g <= SASS_INPUT_VALUE_HIGH; g++)
		if (given >> g & 1)
			emit_value(p, a, g);
	if (given >> SASS_INPUT_OPERAND & 1)
		emit_words(p, SASS_INPUT_OPERAND, a->operand, a->nvalue);
}

/* Waits for the instruction's result. */
static void emit_old_value(struct stub_writer *p, const struct sass_access *a, struct sass_insn own)
{
	unsigned board = sass_write_board(own);

	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(a->old == SASS_RZ || board == SASS_NO_SCOREBOARD ? 0 : 1u << board, 1));
	emit_words(p, SASS_INPUT_OLD, a->old, a->nvalue);
}

static enum gpubpf_mem_space access_space(const struct sass_access *a)
{
	for (enum gpubpf_mem_space s = GPUBPF_GLOBAL; s <= GPUBPF_CONSTANT; s++)
		if (a->spaces == 1u << s)
			return s;
	return GPUBPF_GENERIC;
}

static uint32_t place_constant(const struct sass_insn_probe *at, enum sass_input given)
{
	const struct sass_access *a = &at->place.access;

	switch (given) {
	case SASS_INPUT_PLACE_ID:
		return at->place.id;
	case SASS_INPUT_LINE:
		return at->line;
	case SASS_INPUT_BYTES:
		return a->bytes;
	case SASS_INPUT_ACCESS_KIND:
		return a->access;
	case SASS_INPUT_SPACE:
		return access_space(a);
	case SASS_INPUT_OP:
		return a->op;
	case SASS_INPUT_BARRIER_ID:
		return at->place.barrier;
	case SASS_INPUT_BARRIER_KIND:
		return GPUBPF_BARRIER_BLOCK;
	case SASS_INPUT_COUNT:
		return a->access != GPUBPF_ATOMIC && a->bytes > 4 ? a->bytes / 4 : 1;
	case SASS_INPUT_HINT:
		return GPUBPF_HINT_UNTOLD;
	default:
		return 0;
	}
}

/* The body's load of a place's value becomes a move with the same predicate and waits, and with the stall of a move. */
static struct sass_insn load_to_move(const struct stub_writer *p, const struct sass_insn_probe *at, struct sass_insn insn,
				     enum sass_input given, unsigned half)
{
	unsigned to = sass_field(insn, 16, 8) + p->out->base;
	struct sass_insn move = sass_input_is_per_lane(given) ? sass_move(to, value_reg(p, given) + half) :
							 sass_move_imm(to, half ? 0 : place_constant(at, given));

	return sass_with_field(sass_with_field(move, 12, 4, sass_field(insn, 12, 4)), SASS_WAIT_AT, 6, sass_wait_mask(insn));
}

static struct sass_insn relocate_insn(const struct stub_writer *p, const struct sass_insn_probe *at, struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	enum sass_input given;
	unsigned half;

	if (sass_is_input_load(insn, &given, &half))
		return load_to_move(p, at, insn, given, half);
	for (unsigned i = 0; i < SASS_OPERANDS; i++) {
		struct sass_operand o = sass_operand(form, insn, i);

		if (o.n)
			insn = sass_with_field(insn, o.at, 8, o.reg + p->out->base);
	}
	return insn;
}

/* Lanes that diverge in a body reconverge only at its end, because the body's barriers may be the kernel's. */
static struct sass_insn relocate_divergent(const struct stub_writer *p, const struct sass_insn_probe *at,
					   struct sass_insn insn)
{
	uint32_t to = sass_field(insn, 16, 8);

	if (!sass_barrier_at(insn))
		return relocate_insn(p, at, insn);
	if (sass_opcode(insn) == SASS_OP_BMOV_CLEAR && to != SASS_RZ)
		return sass_with_field(sass_move_imm(to + p->out->base, 0), SASS_WAIT_AT, 6, sass_wait_mask(insn));
	return sass_nop(sass_wait_mask(insn), sass_stall(insn));
}

/* A branch over `over` instructions for the lanes whose predicate does not hold. */
static void emit_branch_over(struct stub_writer *p, unsigned predicate, uint32_t over)
{
	struct sass_insn bra = sass_bra(p->code->arch, (int64_t)over * SASS_INSN);

	if (predicate != SASS_PT)
		emit(p, sass_with_field(bra, 12, 4, predicate ^ 8));
}

/* Lanes for which the instruction does not execute branch around the body. Lanes that entered together reconverge after
 * it, at a barrier that only stubs use. Lanes of the warp in another stub may use the barrier at the same time. Both
 * sides of a branch do so too in the code of ptxas. */
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

/* The stub saves the predicates before a body first writes one, and restores them when all writes are complete. */
static void emit_body(struct stub_writer *p, const struct sass_insn_probe *at)
{
	uint8_t guard = at->place.guard, second = at->place.second;
	const struct sass_body *b = at->body;

	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(p->pending, 1));
	if (b->wanders)
		return emit_divergent_body(p, at, guard, second);
	if (b->predicates)
		emit(p, sass_save_predicates(p->saved_at));
	if (b->meant != SASS_PT)
		emit(p, sass_and_predicates(b->meant, guard & 7, guard >> 3, second & 7, second >> 3));
	for (uint32_t i = 0; i < b->n; i++)
		emit(p, relocate_insn(p, at, b->insns[i]));
	if (b->predicates) {
		emit(p, sass_nop(0, SASS_PREDICATE_CYCLES));
		emit(p, sass_restore_predicates(p->saved_at));
	}
}

static void switch_access(struct stub_writer *p, const struct sass_insn_probe *at, uint32_t given)
{
	const struct sass_access *a = &at->place.access;

	if (!gpubpf_place_kind(at->place.kind)->spaces || a->near == p->access->near)
		return;
	emit_access_values(p, a, given);
	p->access = a;
}

static void emit_bodies(struct stub_writer *p, uint32_t from, uint32_t to, enum gpubpf_when when, uint32_t given)
{
	for (uint32_t i = from; i < to; i++) {
		if (gpubpf_place_kind(p->around->list[i].place.kind)->when != when)
			continue;
		switch_access(p, &p->around->list[i], given);
		emit_body(p, &p->around->list[i]);
	}
}

/* Bodies after the instruction save the predicates, so the stub waits for the predicates that the instruction
 * writes. */
static void emit_predicate_wait(struct stub_writer *p, uint32_t from, uint32_t to, struct sass_insn own)
{
	bool after = false;

	for (uint32_t i = from; i < to; i++)
		after |= gpubpf_place_kind(p->around->list[i].place.kind)->when == GPUBPF_WHEN_AFTER;
	if (!after || !sass_predicate_is_slow(own))
		return;
	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(ALL_BOARDS, 1));
}

/* The access of the first place that is about memory. */
static const struct sass_access *find_access(const struct sass_insn_probes *around, uint32_t from, uint32_t to)
{
	while (from + 1 < to && !gpubpf_place_kind(around->list[from].place.kind)->spaces)
		from++;
	return &around->list[from].place.access;
}

/* The stub of one instruction, with the bodies list[from] to list[to - 1]. An EXIT may already be a branch to its
 * probe. */
static void emit_stub(struct stub_writer *p, uint32_t from, uint32_t to)
{
	uint32_t at = p->around->list[from].place.at, stands = p->out->stands[at], start = p->out->n, given = 0;
	const struct sass_access *access = find_access(p->around, from, to);
	struct sass_insn own = p->out->insns[stands], was = sass_code_at(p->code, at);
	unsigned waits = sass_wait_mask(own) | p->pending | (p->code->slow_predicates ? ALL_BOARDS : 0);

	for (uint32_t i = from; i < to; i++)
		given |= p->around->list[i].body->given;
	p->out->insns[stands] = sass_bra(p->code->arch, ((int64_t)start - stands - 1) * SASS_INSN);
	emit(p, sass_nop(waits, SASS_PREDICATE_CYCLES - MIN_BRANCH_CYCLES));
	p->access = access;
	emit_access_values(p, access, given);
	emit_branch_values(p, was, given);
	emit_operands(p, was, given);
	emit_bodies(p, from, to, GPUBPF_WHEN_BEFORE, given);
	p->out->stands[at] = p->out->n;
	emit(p, sass_relocate_own_insn(p->code->arch, own, at, p->out->n));
	if (given >> SASS_INPUT_OLD & 1)
		emit_old_value(p, access, own);
	emit_predicate_wait(p, from, to, own);
	emit_bodies(p, from, to, GPUBPF_WHEN_AFTER, given);
	emit(p, sass_bra(p->code->arch, ((int64_t)stands - p->out->n) * SASS_INSN));
}

/* -- checks -- */

static int check_place(const struct stub_writer *p, const struct sass_insn_probe *at, struct gpubpf_diag *diag)
{
	const struct sass_code *code = p->code;
	struct sass_insn own = sass_code_at(code, at->place.at);
	bool old = at->body->given >> SASS_INPUT_OLD & 1 && at->place.access.old != SASS_RZ;

	if (at->place.why)
		return refuse(diag, "its instruction at 0x%x (%s) is %s, which a probe in machine code cannot observe",
			      at->place.at * SASS_INSN, sass_op_find(sass_opcode(own))->name, at->place.why);
	if (at->body->given >> SASS_INPUT_ADDRESS & 1 && at->place.access.near)
		return refuse(diag, "its access at 0x%x has no generic address in machine code; read mem.offset, the "
				    "offset in its space, and not mem.addr", at->place.at * SASS_INSN);
	if (at->body->given >> SASS_INPUT_OFFSET & 1 && gpubpf_place_kind(at->place.kind)->spaces &&
	    access_space(&at->place.access) == GPUBPF_GENERIC)
		return refuse(diag, "its access at 0x%x may be in one of several spaces, so it has no offset; read "
				    "mem.addr, and not mem.offset",
			      at->place.at * SASS_INSN);
	if (old && sass_write_board(own) == SASS_NO_SCOREBOARD)
		return refuse(diag, "its instruction at 0x%x has no scoreboard, so no probe can wait for its "
				    "result", at->place.at * SASS_INSN);
	if (at->body->given & OPERAND_VALUES && !sass_operands_known(code->arch, own))
		return refuse(diag, "its instruction at 0x%x (%s) has operands whose registers are not "
				    "known", at->place.at * SASS_INSN,
			      sass_op_find(sass_opcode(own))->name);
	if (!sass_is_relocatable(code, at->place.at))
		return refuse(diag, "its instruction at 0x%x cannot execute at another address, as a probe "
				    "requires", at->place.at * SASS_INSN);
	if (at->body->wanders && p->barrier == SASS_BARRIERS)
		return refuse(diag, "it uses all convergence barriers, so lanes of its probe at 0x%x could not "
				    "reconverge",
			      at->place.at * SASS_INSN);
	if (code->calls)
		return refuse(diag, "it calls functions in other sections, whose instructions would have no probes");
	return 0;
}

int sass_emit_insn_probes(const struct sass_insn_probes *around, const struct sass_code *code, unsigned left, struct sass_patched_code *out,
		    struct gpubpf_diag *diag)
{
	struct stub_writer p = { .around = around, .code = code, .out = out, .pending = left, .barrier = sass_find_free_barrier(code) };
	int err = 0;

	p.saved_at = out->base + count_body_regs(around, code);
	assign_value_regs(around, p.saved_at + SAVED_REGS, p.given);
	for (uint32_t i = 0, to; !err && i < around->n; i = to) {
		for (to = i; !err && to < around->n && around->list[to].place.at == around->list[i].place.at; to++)
			err = check_place(&p, &around->list[to], diag);
		if (!err)
			emit_stub(&p, i, to);
	}
	return err;
}
