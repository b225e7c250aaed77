/* SPDX-License-Identifier: Apache-2.0 */
#include "body.h"

#include <errno.h>
#include <stdlib.h>

#include "core/model/diag.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "work.h"
#include "schedule.h"

#define BODY_BOARD 5
#define MAX_EXPANSION_INSNS 3      /* maximum number of instructions that replace one instruction of the probe */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, "its probe at an instruction " __VA_ARGS__)

struct body_maker {
	const struct sass_arch *arch;
	const struct sass_probe *probe;
	struct sass_body *body;
	bool guarded;
	uint8_t scratch; /* free predicate for the AND of an instruction's guard and the body's guard predicate */
	struct gpubpf_diag *diag;
};

/* Checks that the probe can become a body. Finds out whether lanes end early and whether the body needs branches. */
static int check_probe(struct body_maker *m)
{
	for (uint32_t i = 0; i < m->probe->n; i++) {
		struct sass_insn insn = m->probe->insns[i];
		bool last = i + 1 == m->probe->n, ends = sass_opcode(insn) == SASS_OP_EXIT;

		m->body->ends_early |= ends && !last;
		m->body->has_branches |= sass_is_divergent_flow(insn) || (ends && !last && sass_is_unconditional(insn));
		if (!ends && !sass_is_divergent_flow(insn) && !sass_is_lane_independent(insn))
			return refuse(m->diag,
				      "contains %s, which exchanges data between lanes; use counters, sums, "
				      "arrays or hashes, which do not",
				      sass_op(insn)->name);
		if (last && !(ends && sass_is_unconditional(insn)))
			return refuse(m->diag, "does not end at its last instruction");
	}
	return m->probe->n ? 0 : refuse(m->diag, "is empty");
}

/* -- predicates -- */

/* Allocates the highest predicate that is not in *used and adds it to *used. Returns SASS_PT if all are in use. */
static uint8_t alloc_predicate(unsigned *used)
{
	uint8_t p = SASS_PT;

	while (p && *used >> (p - 1) & 1)
		p--;
	if (!p)
		return SASS_PT;
	*used |= 1u << (p - 1);
	return p - 1;
}

/* Allocates the guard predicate and the scratch predicate. If fewer than two predicates are free, the body gets
 * branches instead. */
static void alloc_predicates(struct body_maker *m)
{
	unsigned used = 0;

	for (uint32_t i = 0; i < m->probe->n; i++)
		used |= sass_predicates_written(m->probe->insns[i]) | sass_predicates_read(m->probe->insns[i]);
	m->body->guard = m->scratch = SASS_PT;
	if (m->body->has_branches || (!m->guarded && !m->body->ends_early)) /* the stub branches around such a body,
	                                                                     * so it needs no guard predicate */
		return;
	m->body->guard = alloc_predicate(&used);
	m->scratch = alloc_predicate(&used);
	if (m->scratch != SASS_PT)
		return;
	m->body->guard = SASS_PT;
	m->body->has_branches = true;
}

/* -- the code -- */

static void emit(struct body_maker *m, struct sass_insn insn)
{
	m->body->insns[m->body->n++] = insn;
}

/* Emits the instruction so that it has an effect only for lanes that run the probe. To do so, ANDs its guard, or the
 * predicate that it reads, with the guard predicate of the body. */
static void emit_guarded(struct body_maker *m, struct sass_insn insn, bool by_guard)
{
	uint8_t *condition = by_guard ? &insn.guard : &insn.in;
	struct sass_insn both = sass_and_predicates(m->scratch, *condition & SASS_PT, *condition & SASS_NEGATED,
						    m->body->guard, false);

	if (m->body->guard == SASS_PT)
		return emit(m, insn);
	if (*condition != SASS_PT)
		emit(m, sass_with_waits(both, sass_wait_mask(insn)));
	*condition = *condition == SASS_PT ? m->body->guard : m->scratch;
	emit(m, insn);
}

/* Replaces an EXIT by an update of the guard predicate, which becomes false for the lanes that would end. */
static void emit_exit(struct body_maker *m, struct sass_insn insn)
{
	unsigned guard = insn.guard, second = insn.in;

	if (sass_is_unconditional(insn)) /* the last instruction of the probe */
		return emit(m, sass_nop(sass_wait_mask(insn), 1));
	if (second != SASS_PT) { /* an EXIT with two predicates: a lane ends if both hold */
		emit(m, sass_with_waits(sass_and_predicates(m->scratch, guard & 7, guard >> 3, second & 7, second >> 3),
					sass_wait_mask(insn)));
		emit(m, sass_and_predicates(m->body->guard, m->scratch, true, m->body->guard, false));
		return;
	}
	emit(m, sass_with_waits(sass_and_predicates(m->body->guard, guard & 7, !(guard >> 3), m->body->guard, false),
				sass_wait_mask(insn)));
}

/* Splits the load of a place value into loads of 32 bits. Refuses a load that is neither of 32 bits nor of all 64
 * bits. */
static int emit_value_load(struct body_maker *m, struct sass_insn insn, enum sass_input value, unsigned half)
{
	unsigned width = sass_access_width(insn), to = insn.operand[0].reg;

	m->body->place_values |= 1u << value;
	if (width != SASS_WIDTH_32 && !(width == SASS_WIDTH_64 && !half))
		return refuse(m->diag, "reads only a part of a value of its place; read the whole value");
	insn = sass_with_reg(sass_with_access_width(insn, SASS_WIDTH_32), 1, SASS_RZ);
	emit(m, insn);
	if (width != SASS_WIDTH_64)
		return 0;
	insn = sass_with_high(sass_with_reg(insn, 0, to + 1), SASS_INPUT_BASE + value * SASS_INPUT_STRIDE + 4);
	emit(m, sass_with_waits(insn, 0));
	return 0;
}

/* Emits a branch. An EXIT becomes a branch to the last instruction. emit_all() sets the targets when all positions
 * are known. */
static void emit_branch(struct body_maker *m, struct sass_insn insn)
{
	if (sass_opcode(insn) == SASS_OP_EXIT)
		insn = sass_with_opcode(insn, SASS_OP_BRA);
	emit(m, insn);
}

static int emit_insn(struct body_maker *m, struct sass_insn insn, bool last)
{
	enum sass_input value;
	unsigned half;

	if (sass_is_input_load(insn, &value, &half))
		return emit_value_load(m, insn, value, half);
	if (m->body->has_branches && (sass_is_divergent_flow(insn) || (sass_opcode(insn) == SASS_OP_EXIT && !last)))
		emit_branch(m, insn);
	else if (sass_opcode(insn) == SASS_OP_EXIT)
		emit_exit(m, insn);
	else if (sass_is(insn, SASS_OPERATION_VOTE)) /* its input predicate must be false for lanes that do not run
	                                              * the probe */
		emit_guarded(m, insn, false);
	else if (sass_has_effect(insn))
		emit_guarded(m, insn, true);
	else
		emit(m, insn);
	return 0;
}

/* Emits the whole body. at[i] is the position in the body of instruction i of the probe. An EXIT before the last
 * instruction becomes a branch to the last instruction. */
static int emit_all(struct body_maker *m)
{
	uint32_t *at = calloc(m->probe->n, sizeof(*at)), n = m->probe->n;
	int err = at ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < n; i++) {
		at[i] = m->body->n;
		err = emit_insn(m, m->probe->insns[i], i + 1 == n);
	}
	for (uint32_t i = 0; !err && m->body->has_branches && i + 1 < n; i++) {
		struct sass_insn was = m->probe->insns[i], *is = &m->body->insns[at[i]];
		int64_t to = sass_opcode(was) == SASS_OP_EXIT ? n - 1 :
								(int64_t)i + 1 + sass_branch(m->arch, was) / SASS_INSN;

		if (sass_opcode(was) != SASS_OP_EXIT && !sass_has_target(was))
			continue;
		if (to < 0 || to >= n)
			err = refuse(m->diag, "branches out of its code");
		else
			*is = sass_with_branch(m->arch, *is, ((int64_t)at[to] - at[i] - 1) * SASS_INSN);
	}
	free(at);
	return err;
}

/* -- dead code -- */

static bool is_pure(struct sass_insn insn)
{
	return sass_has(insn, SASS_PURE) || (sass_has(insn, SASS_PURE_VALUE) && !sass_predicates_written(insn));
}

static bool is_read(const struct sass_body *b, const struct sass_operand *x)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (sass_uses(b->insns[i], x, SASS_READS))
			return true;
	return false;
}

/* Removes instruction i. The instruction before it takes over its stall, and the instruction after it takes over its
 * waits. */
static void drop_insn(struct sass_body *b, uint32_t i)
{
	unsigned waits = sass_wait_mask(b->insns[i]), stall = sass_stall(b->insns[i]);

	if (i) {
		stall += sass_stall(b->insns[i - 1]);
		b->insns[i - 1] = sass_with_stall(b->insns[i - 1], stall < SASS_STALL_MAX ? stall : SASS_STALL_MAX);
	}
	b->insns[i + 1] = sass_with_waits(b->insns[i + 1], sass_wait_mask(b->insns[i + 1]) | waits);
	memmove(&b->insns[i], &b->insns[i + 1], (--b->n - i) * sizeof(*b->insns));
}

static void drop_dead(struct sass_body *b)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = b->n - 1; i--;) { /* the last instruction is a NOP */
			struct sass_operand x = b->insns[i].operand[0];

			if (!is_pure(b->insns[i]) || (x.n && is_read(b, &x)))
				continue;
			drop_insn(b, i);
			changed = true;
		}
	}
}

/* -- in flight -- */

/* Adds a scoreboard to every slow instruction without one, because the body may execute again while the instruction
 * is in flight. Computes the scoreboards that are still set at the end of the body. */
static void assign_boards(struct sass_body *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		struct sass_insn insn = b->insns[i];
		enum sass_input value;
		unsigned half;

		if (sass_is_input_load(insn, &value, &half) || !sass_lacks_board(insn))
			continue;
		b->insns[i] = sass_with_board(insn, BODY_BOARD);
		sass_insert_wait(b->insns, b->n, i, BODY_BOARD);
	}
	for (uint32_t i = 0; i < b->n; i++) /* in a body with branches no wait is certain to execute */
		b->pending_boards = sass_pending_boards(b->pending_boards,
							b->has_branches ? sass_with_waits(b->insns[i], 0) : b->insns[i]);
}

static void find_uses(struct sass_body *b)
{
	for (uint32_t i = 0; i < b->n; i++) {

		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = b->insns[i].operand[o];

			if (x.n && (uint32_t)x.reg + x.n > b->regs)
				b->regs = x.reg + x.n;
		}
		b->predicates |= sass_predicates_written(b->insns[i]) != 0;
	}
	b->predicates |= b->guard != SASS_PT || b->has_branches;
}

int sass_body_make(const struct sass_arch *arch, const struct sass_probe *probe, bool guarded, struct sass_body *body,
		   struct gpubpf_diag *diag)
{
	struct body_maker m = { .arch = arch, .probe = probe, .body = body, .guarded = guarded, .diag = diag };
	int err;

	*body = (struct sass_body){ .frame = probe->frame };
	err = check_probe(&m);
	alloc_predicates(&m);
	body->insns = err ? NULL : calloc(MAX_EXPANSION_INSNS * probe->n + 1, sizeof(*body->insns));
	if (!err && !body->insns)
		err = -ENOMEM;
	err = err ? err : emit_all(&m);
	if (err < 0) {
		sass_body_finish(body);
		return err;
	}
	if (!body->has_branches)
		drop_dead(body);
	assign_boards(body);
	find_uses(body);
	return 0;
}

void sass_body_finish(struct sass_body *body)
{
	free(body->insns);
	*body = (struct sass_body){ 0 };
}
