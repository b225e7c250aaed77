/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks operations of the kernel that have no scoreboard and access a register of the exit probe. None may be in
 * flight where that probe begins. The pass reads the twin's bytes. From each such operation it follows every path, also
 * through stubs. A path ends at a later operation of the same in-order unit that sets a scoreboard, because the exit
 * probe waits for every scoreboard (sass_check_exit()). No path may reach the exit probe.
 */
#include <errno.h>
#include <stdlib.h>

#include "work.h"

struct flight_walk {
	struct checked *c;
	uint32_t *seen;        /* seen[i]: 1 + index of the last operation whose walk has reached instruction i */
	uint32_t *work, nwork; /* worklist of instructions */
	/* The exit probe is at the indices `from` to `end` - 1. top: one above its highest register, or 0 if all its
	 * registers are above the kernel's. */
	uint32_t from, end, top;
};

static uint32_t get_operation(const struct checked *c, uint32_t i)
{
	return insn_at(c, i).opcode % SASS_OPERATIONS;
}

static enum sass_class get_class(const struct checked *c, uint32_t i)
{
	return sass_op(insn_at(c, i))->class;
}

/* -- operations without a scoreboard -- */

static bool is_below(const struct flight_walk *w, uint32_t i, unsigned o)
{
	return sass_operand_bits(insn_at(w->c, i), o) < w->top;
}

static bool has_fixed_latency(const struct checked *c, uint32_t i)
{
	switch (get_operation(c, i)) {
	case SASS_OPERATION_DMUL:
	case SASS_OPERATION_DADD:
	case SASS_OPERATION_DSETP:
	case SASS_OPERATION_DFMA: /* arithmetic of doubles */
		return c->code->arch->timed_doubles;
	default:
		return false;
	}
}

/* Returns true if instruction i writes general registers. S2UR, R2UR, REDUX, LDCU and others write a uniform
 * register. */
static bool writes_registers(const struct checked *c, uint32_t i)
{
	switch (get_operation(c, i)) {
	case SASS_OPERATION_UI2F:
	case SASS_OPERATION_UF2I:
	case SASS_OPERATION_CREDUX:
	case SASS_OPERATION_LDCU:
	case SASS_OPERATION_R2UR_OLD:
	case SASS_OPERATION_S2UR:
	case SASS_OPERATION_REDUX:
	case SASS_OPERATION_UTCATOMSWS:
	case SASS_OPERATION_BMOV_TO:
		return false;
	default:
		return get_class(c, i) != SASS_STORE;
	}
}

/* Returns true if the instruction may access a register below w->top after its issue without a scoreboard that shows
 * the end of the access. */
static bool touches_unguarded(const struct flight_walk *w, uint32_t i)
{
	struct sass_insn insn = insn_at(w->c, i);
	enum sass_class class = get_class(w->c, i);
	bool slow = class == SASS_SLOW || class == SASS_LOAD || class == SASS_STORE;
	bool empties = get_operation(w->c, i) == SASS_OPERATION_BMOV_FROM && insn.operand[0].reg == SASS_RZ; /* BMOV.CLEAR RZ,
	                                                                                             * B: clears a
	                                                                                             * barrier and
	                                                                                             * writes no
	                                                                                             * register */

	if (!slow || empties || insn.write_board != SASS_NO_SCOREBOARD || has_fixed_latency(w->c, i))
		return false;
	if (writes_registers(w->c, i) && is_below(w, i, 0))
		return true;
	if (insn.read_board != SASS_NO_SCOREBOARD)
		return false;
	if (get_operation(w->c, i) == SASS_OPERATION_LDC) /* the constant's offset occupies the fields of B and C */
		return is_below(w, i, 1);
	return is_below(w, i, 1) || is_below(w, i, 2) || is_below(w, i, 3);
}

/* -- the end of an operation -- */

/* Returns true if `operation` belongs to an in-order unit and instruction i proves that earlier ones are complete. To
 * do so, instruction i must have the same operation, have no guard, and set a write scoreboard. */
static bool completes_operation(const struct checked *c, uint32_t i, uint32_t operation)
{
	switch (operation) {
	case SASS_OPERATION_LDSM:
	case SASS_OPERATION_FRND:
	case SASS_OPERATION_MUFU:
	case SASS_OPERATION_F2F_64:
	case SASS_OPERATION_LDS: /* backends/cuda/sass/isa/flight.def names the source for these in-order units */
		break;
	default:
		return false;
	}
	return get_operation(c, i) == operation && insn_at(c, i).guard == SASS_PT &&
	       insn_at(c, i).write_board != SASS_NO_SCOREBOARD;
}

/* -- the paths -- */

static void push(struct flight_walk *w, uint32_t number, int64_t to)
{
	if (to < 0 || to >= w->c->ninsns || w->seen[to] == number)
		return;
	w->seen[to] = number;
	w->work[w->nwork++] = to;
}

/* Lanes that wait at this BSYNC may continue at the target of any BSSY of the same barrier. Adds these targets. */
static void push_reconvergence(struct flight_walk *w, uint32_t number, uint32_t bsync)
{
	for (uint32_t i = 0; i < w->c->ninsns; i++)
		if (get_operation(w->c, i) == SASS_OPERATION_BSSY &&
		    sass_convergence_barrier(insn_at(w->c, i)) == sass_convergence_barrier(insn_at(w->c, bsync)))
			push(w, number, sass_check_target(w->c, i));
}

/* Adds the successors of instruction i to the worklist. Returns false for a jump with unknown targets, which may
 * lead to an exit. */
static bool push_successors(struct flight_walk *w, uint32_t number, uint32_t i)
{
	struct sass_insn insn = insn_at(w->c, i);
	enum sass_class class = get_class(w->c, i);

	if (class == SASS_INDIRECT || sass_opcode(insn) == SASS_OP_CALL_REGISTER)
		return false;
	if (class == SASS_BRANCH)
		push(w, number, sass_check_target(w->c, i));
	if (get_operation(w->c, i) == SASS_OPERATION_BSYNC)
		push_reconvergence(w, number, i);
	if (!sass_is_unconditional(insn) || (class != SASS_EXIT && (insn.opcode != SASS_OP_BRA || insn.mode)))
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
		if (!completes_operation(w->c, i, get_operation(w->c, at)) && !push_successors(w, at + 1, i))
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
					       "it has no scoreboard and may access a register of the exit's probe "
					       "while that probe runs");
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
		const struct sass_form *form = sass_form(insn_at(w->c, i));

		for (unsigned o = 0; form && o < SASS_OPERANDS; o++) {
			struct sass_operand x = insn_at(w->c, i).operand[o];

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
