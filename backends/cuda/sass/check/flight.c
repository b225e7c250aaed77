/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: no operation of the kernel that has no scoreboard and accesses a register of the exit probe is in flight where
 * that probe begins. The pass reads the twin's bytes. From each such operation it follows every path, also through
 * stubs. A path ends at a later operation of the same in-order unit that sets a scoreboard, because the exit probe
 * waits for every scoreboard (sass_check_exit()). No path may reach the exit probe.
 */
#include <errno.h>
#include <stdlib.h>

#include "work.h"

#define OP_BRA 0x147               /* operations: bits 0..8 */
#define OP_BSSY 0x145
#define OP_BSYNC 0x141
#define OP_LDC 0x182
#define OP_BMOV_FROM 0x155
#define OP_BMOV_TO 0x156
#define CALL_REGISTER 0x344        /* a whole opcode */

struct flight_walk {
	struct checked *c;
	uint32_t *seen;          /* per instruction: 1 + index of the last operation whose walk reached it */
	uint32_t *work, nwork;   /* worklist of instructions */
	uint32_t from, end, top; /* from: first instruction of the exit probe. end: one past its last. top:
	                                    * one above its highest register; 0 if all its registers are above the
	                                    * kernel's. */
};

static uint32_t operation_at(const struct checked *c, uint32_t i)
{
	return sass_opcode(insn_at(c, i)) & 0x1ff;
}

static enum sass_class class_at(const struct checked *c, uint32_t i)
{
	return sass_op_find(sass_opcode(insn_at(c, i)))->class;
}

/* -- which operations -- */

static bool is_below(const struct flight_walk *w, uint32_t i, unsigned field)
{
	return sass_field(insn_at(w->c, i), field, 8) < w->top;
}

static bool has_fixed_latency(const struct checked *c, uint32_t i)
{
	switch (operation_at(c, i)) {
	case 0x028:
	case 0x029:
	case 0x02a:
	case 0x02b: /* arithmetic of doubles */
		return c->code->arch->timed_doubles;
	default:
		return false;
	}
}

/* Does it write general registers? The destination of S2UR, R2UR, REDUX, LDCU and others is uniform. */
static bool writes_registers(const struct checked *c, uint32_t i)
{
	switch (operation_at(c, i)) {
	case 0x05a:
	case 0x05c:
	case 0x0cc:
	case 0x1ac:
	case 0x1c2:
	case 0x1c3:
	case 0x1c4:
	case 0x1e3:
	case OP_BMOV_TO:
		return false;
	default:
		return class_at(c, i) != SASS_STORE;
	}
}

/* May the instruction access a register below w->top after issue, without a scoreboard that says when? */
static bool touches_unguarded(const struct flight_walk *w, uint32_t i)
{
	struct sass_insn insn = insn_at(w->c, i);
	enum sass_class class = class_at(w->c, i);
	bool slow = class == SASS_SLOW || class == SASS_LOAD || class == SASS_STORE;
	bool empties = operation_at(w->c, i) == OP_BMOV_FROM && sass_field(insn, 16, 8) == SASS_RZ; /* BMOV.CLEAR RZ,
	                                                                                             * B: clears a
	                                                                                             * barrier and
	                                                                                             * writes no
	                                                                                             * register */

	if (!slow || empties || sass_field(insn, SASS_WRITE_AT, 3) != SASS_NO_SCOREBOARD || has_fixed_latency(w->c, i))
		return false;
	if (writes_registers(w->c, i) && is_below(w, i, 16))
		return true;
	if (sass_field(insn, SASS_READ_AT, 3) != SASS_NO_SCOREBOARD)
		return false;
	if (operation_at(w->c, i) == OP_LDC) /* the constant's offset occupies the fields of B and C */
		return is_below(w, i, 24);
	return is_below(w, i, 24) || is_below(w, i, 32) || is_below(w, i, 64);
}

/* -- the end of an operation -- */

/* Does instruction i end the walk: the same operation, of an in-order unit, unguarded, with a write scoreboard? */
static bool completes_operation(const struct checked *c, uint32_t i, uint32_t operation)
{
	switch (operation) {
	case 0x03b:
	case 0x107:
	case 0x108:
	case 0x110:
	case 0x184: /* LDSM, FRND, MUFU, F2F.64, LDS: backends/cuda/sass/isa/flight.def names the source */
		break;
	default:
		return false;
	}
	return operation_at(c, i) == operation && sass_field(insn_at(c, i), 12, 4) == SASS_PT &&
	       sass_field(insn_at(c, i), SASS_WRITE_AT, 3) != SASS_NO_SCOREBOARD;
}

/* -- the paths -- */

static void push(struct flight_walk *w, uint32_t number, int64_t to)
{
	if (to < 0 || to >= w->c->ninsns || w->seen[to] == number)
		return;
	w->seen[to] = number;
	w->work[w->nwork++] = to;
}

/* Lanes that wait at this BSYNC may continue at the target of any BSSY of the same barrier. */
static void push_reconvergence(struct flight_walk *w, uint32_t number, uint32_t bsync)
{
	for (uint32_t i = 0; i < w->c->ninsns; i++)
		if (operation_at(w->c, i) == OP_BSSY &&
		    sass_field(insn_at(w->c, i), 16, 4) == sass_field(insn_at(w->c, bsync), 16, 4))
			push(w, number, sass_check_target(w->c, i));
}

/* Adds the successors of instruction i. Returns false for a jump with unknown targets, which may lead to an exit. */
static bool push_successors(struct flight_walk *w, uint32_t number, uint32_t i)
{
	struct sass_insn insn = insn_at(w->c, i);
	enum sass_class class = class_at(w->c, i);

	if (class == SASS_INDIRECT || sass_opcode(insn) == CALL_REGISTER)
		return false;
	if (class == SASS_BRANCH)
		push(w, number, sass_check_target(w->c, i));
	if (operation_at(w->c, i) == OP_BSYNC)
		push_reconvergence(w, number, i);
	if (!sass_is_unconditional(insn) || (class != SASS_EXIT && operation_at(w->c, i) != OP_BRA))
		push(w, number, (int64_t)i + 1);
	return true;
}

static bool reaches_probe(struct flight_walk *w, uint32_t at)
{
	w->nwork = 0;
	if (!push_successors(w, at + 1, at))
		return true;
	while (w->nwork) {
		uint32_t i = w->work[--w->nwork];

		if (i == w->from)
			return true;
		if (!completes_operation(w->c, i, operation_at(w->c, at)) && !push_successors(w, at + 1, i))
			return true;
	}
	return false;
}

static int check_all(struct flight_walk *w)
{
	for (uint32_t i = 0; i < w->c->ninsns; i++) {
		bool own = i >= w->from && i < w->end;

		if (!own && touches_unguarded(w, i) && reaches_probe(w, i))
			return sass_check_fail(w->c, i,
					       "it has no scoreboard and touches a register of the exit's "
					       "probe while in flight");
	}
	return 0;
}

/* -- entry point -- */

static void find_probe(struct flight_walk *w)
{
	uint32_t low = SASS_RZ;

	w->from = w->c->exit;
	w->end = w->c->entry != SASS_NONE && w->c->entry > w->c->exit ? w->c->entry : w->c->first_stub;
	for (uint32_t i = w->from; i < w->end; i++) {
		const struct sass_form *form = sass_form_find(sass_opcode(insn_at(w->c, i)));

		for (unsigned o = 0; form && o < SASS_OPERANDS; o++) {
			struct sass_operand x = sass_operand(form, insn_at(w->c, i), o);

			low = x.n && !x.uniform && x.reg < low ? x.reg : low;
			w->top = x.n && !x.uniform && (uint32_t)x.reg + x.n > w->top ? (uint32_t)x.reg + x.n : w->top;
		}
	}
	w->top = low < w->c->regs ? w->top : 0; /* 0 if the whole probe uses only registers above the kernel's */
}

int sass_check_flight(struct checked *c)
{
	struct flight_walk w = { .c = c };
	int err = 0;

	if (c->exit == SASS_NONE)
		return 0;
	find_probe(&w);
	w.seen = calloc(c->ninsns, sizeof(*w.seen));
	w.work = calloc(c->ninsns, sizeof(*w.work));
	err = w.seen && w.work ? check_all(&w) : -ENOMEM;
	free(w.seen);
	free(w.work);
	return err;
}
