/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "code_cfg.h"
#include "dataflow.h"
#include "live.h"

#define IN_FLIGHT 0x80             /* bit of a state: the operation is in flight. Bits 0..5 are scoreboards: a wait
                                    * for one of them ends the operation. */
#define MAX_STATE_BYTES (1u << 25) /* maximum of the number of instructions times the number of operations.
                                    * Above it, each operation counts as in flight at every exit. */

struct flight_analysis {
	const struct sass_code *code;
	struct sass_flights *f;
	struct sass_cfg cfg;
	uint8_t *states;   /* states[block * n + k]: state of operation k before the block */
	uint8_t *anywhere; /* state of each operation at jumps with unknown targets */
	uint8_t *now;      /* state of each operation at the current instruction */
	bool changed;      /* anywhere[] has changed */
};

/* -- operations without a scoreboard -- */

static bool has_known_time(const struct sass_arch *arch, struct sass_insn insn)
{
	return arch->timed_doubles && sass_has(insn, SASS_DOUBLES);
}

/* register accesses of an operation after its issue that no scoreboard protects */
struct late_uses {
	bool written, read;      /* written: the operation writes the destination register. read: it reads the
	                            * source registers. */
	bool uniform, predicate; /* uniform: the destination is a uniform register. predicate: the operation also
	                            * writes a predicate. */
};

/* Returns the accesses after issue that no scoreboard protects. An operation has no such access if it completes at
 * issue or has a fixed latency on this architecture. */
static struct late_uses find_late_uses(const struct sass_arch *arch, struct sass_insn insn)
{
	struct late_uses late = { 0 };
	bool to_barrier = sass_is(insn, SASS_OPERATION_BMOV_TO);
	bool stores = sass_op(insn)->class == SASS_STORE || to_barrier;
	bool unguarded = sass_write_board(insn) == SASS_NO_SCOREBOARD;

	if (!sass_lacks_board(insn) || has_known_time(arch, insn))
		return late;
	late.written = !stores && sass_operand_bits(insn, 0) != SASS_RZ;
	late.uniform = late.written && sass_has(insn, SASS_UNIFORM_RESULT);
	late.read = unguarded && sass_read_board(insn) == SASS_NO_SCOREBOARD;
	late.predicate = sass_predicate_is_slow(insn);
	return late;
}

/* Returns true if the operation may access a register below n after its issue without the protection of a
 * scoreboard. A field that holds no register counts as a register, which is safe. */
static bool touches_registers(const struct sass_arch *arch, struct sass_insn insn, uint32_t n)
{
	struct late_uses late = find_late_uses(arch, insn);
	bool touches = late.written && !late.uniform && sass_operand_bits(insn, 0) < n;

	for (unsigned i = 1; i < SASS_OPERANDS && late.read && (i == 1 || sass_opcode(insn) != SASS_OP_LDC); i++)
		touches |= sass_operand_bits(insn, i) < n;
	return touches;
}

static void find_operations(const struct sass_code *code, uint32_t regs, struct sass_flights *f)
{
	for (uint32_t i = 0; i < code->n; i++)
		if (touches_registers(code->arch, sass_code_at(code, i), regs))
			f->at[f->n++] = i;
}

/* -- the transfer function -- */

static bool works_in_order(struct sass_insn insn)
{
	static const uint16_t units[] = {
#define SASS_IN_ORDER(operation, name, reads) operation,
#include "backends/cuda/sass/isa/flight.def"
#undef SASS_IN_ORDER
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (sass_is(insn, units[i]))
			return true;
	return false;
}

/* Returns the scoreboard, as a bit, that the instruction sets and that also covers all earlier operations of its
 * in-order unit. Returns 0 if there is none. */
static uint8_t get_unit_board(struct sass_insn insn)
{
	unsigned board = sass_write_board(insn);

	return works_in_order(insn) && insn.guard == SASS_PT && board != SASS_NO_SCOREBOARD ? 1u << board : 0;
}

/* Changes the states as instruction i does. */
static void apply_insn(const struct flight_analysis *w, uint32_t i)
{
	struct sass_insn insn = sass_code_at(w->code, i);
	uint8_t waits = sass_wait_mask(insn), board = get_unit_board(insn);

	for (uint32_t k = 0; k < w->f->n; k++) {
		uint8_t state = w->now[k] & waits ? 0 : w->now[k];

		if (state && board && sass_op(w->code->insns[w->f->at[k]]) == sass_op(insn))
			state |= board;
		w->now[k] = w->f->at[k] == i ? IN_FLIGHT : state;
	}
}

/* Merges the states of one more incoming edge into `to`. An operation is in flight if it is in flight on any edge. A
 * scoreboard ends an operation only if it does so on every edge on which the operation is in flight. Returns true if
 * `to` changed. */
static bool merge_states(void *arg, uint32_t block, void *into, const void *more)
{
	const struct flight_analysis *w = arg;
	const uint8_t *from = more;
	uint8_t *to = into;
	bool changed = false;

	(void)block;
	for (uint32_t k = 0; k < w->f->n; k++) {
		uint8_t both = to[k] && from[k] ? to[k] & from[k] : to[k] | from[k];

		changed |= both != to[k];
		to[k] = both;
	}
	return changed;
}

/* -- the fixed point -- */

static void visit_exit(struct flight_analysis *w)
{
	for (uint32_t k = 0; k < w->f->n; k++)
		w->f->at_exit[k] |= w->now[k] && !(w->now[k] & SASS_ALL_BOARDS);
}

/* Passes the states through a block. If the code has jumps with unknown targets, control may enter at any
 * instruction. */
static void apply_block(void *arg, uint32_t b, void *state)
{
	struct flight_analysis *w = arg;
	const struct sass_block *block = &w->cfg.blocks[b];

	w->now = state;
	for (uint32_t i = block->begin; i < block->end; i++) {
		if (w->cfg.unknown)
			merge_states(w, b, w->now, w->anywhere);
		if (w->code->insns[i].opcode == SASS_OP_EXIT)
			visit_exit(w);
		apply_insn(w, i);
		if (sass_has_unknown_target(w->code->insns[i]))
			w->changed |= merge_states(w, b, w->anywhere, w->now);
	}
}

/* Solves the flow again until the state at unknown targets does not change. The analysis is monotone, so a mark that
 * visit_exit() sets before the end stays correct. */
static int solve(struct flight_analysis *w)
{
	struct sass_dataflow flow = {
		.cfg = &w->cfg, .size = w->f->n, .transfer = apply_block, .merge = merge_states, .arg = w
	};
	int err;

	do {
		w->changed = false;
		err = sass_dataflow_solve(&flow, w->states);
	} while (!err && w->changed);
	return err;
}

/* -- entry points -- */

static int analyze(const struct sass_code *code, struct sass_flights *f)
{
	struct flight_analysis w = { .code = code, .f = f };
	int err = sass_cfg_of_code(&w.cfg, code);

	w.states = err ? NULL : calloc(w.cfg.nblocks + 1, f->n);
	w.anywhere = calloc(f->n, 1);
	if (!err)
		err = w.states && w.anywhere ? solve(&w) : -ENOMEM;
	free(w.states);
	free(w.anywhere);
	sass_cfg_finish(&w.cfg);
	return err;
}

int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *f)
{
	int err = 0;

	*f = (struct sass_flights){ .at = calloc(code->n + 1, sizeof(*f->at)),
				    .at_exit = calloc(code->n + 1, sizeof(*f->at_exit)) };
	if (!f->at || !f->at_exit)
		err = -ENOMEM;
	if (!err)
		find_operations(code, regs, f);
	if (!err && f->n && (uint64_t)code->n * f->n <= MAX_STATE_BYTES)
		err = analyze(code, f);
	else if (!err)
		memset(f->at_exit, code->nexits > 0, f->n * sizeof(*f->at_exit));
	if (err < 0)
		sass_flights_finish(f);
	return err;
}

void sass_flights_finish(struct sass_flights *f)
{
	free(f->at);
	free(f->at_exit);
	*f = (struct sass_flights){ 0 };
}
