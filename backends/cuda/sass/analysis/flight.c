/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "live.h"

#define IN_FLIGHT 0x80             /* bit of a state: the operation is in flight. Bits 0..5 are scoreboards: a wait
                                    * for one of them ends the operation. */
#define MAX_STATE_BYTES (1u << 25) /* limit in bytes of the states; above it, each operation counts as in flight
                                    * everywhere */
#define OP_CALL_REGISTER 0x344
#define OP_BMOV_TO 0x156            /* BMOV to a convergence barrier */

struct flight_analysis {
	const struct sass_code *code;
	struct sass_flights *f;
	uint32_t *bssys, nbssys; /* indices of the BSSY instructions */
	uint8_t *anywhere;       /* the state at jumps with unknown targets */
	uint8_t *next;           /* the state after an instruction */
	bool jumps;              /* the code has jumps with unknown targets */
	bool *due;               /* per instruction: its state changed since visit_insn() last handled it */
	bool changed;            /* due[] has a true element */
};

/* -- operations without a scoreboard -- */

static bool has_known_time(const struct sass_arch *arch, struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return arch->timed_doubles && operation >= 0x028 && operation <= 0x02b; /* DMUL, DADD, DSETP, DFMA */
}

static bool is_uniform_result(struct sass_insn insn)
{
	switch (sass_opcode(insn) & 0x1ff) {
	case 0x05a:
	case 0x05c:
	case 0x0cc:
	case 0x1ac:
	case 0x1c2:
	case 0x1c3:
	case 0x1c4:
	case 0x1e3:
		return true; /* UI2F, UF2I, CREDUX, LDCU, R2UR, S2UR, REDUX, UTCATOMSWS */
	default:
		return false;
	}
}

/* the accesses of an operation after issue that no scoreboard guards */
struct late_uses {
	bool written, read;      /* written: the operation writes the destination register. read: it reads the
	                            * source registers. */
	bool uniform, predicate; /* uniform: the destination is a uniform register. predicate: the operation also
	                            * writes a predicate. */
};

/* Finds the unguarded accesses after issue. There are none if the operation has a fixed latency on the architecture
 * or completes at issue. */
static struct late_uses find_late_uses(const struct sass_arch *arch, struct sass_insn insn)
{
	struct late_uses late = { 0 };
	bool to_barrier = (sass_opcode(insn) & 0x1ff) == OP_BMOV_TO;
	bool stores = sass_op_find(sass_opcode(insn))->class == SASS_STORE || to_barrier;
	bool unguarded = sass_write_board(insn) == SASS_NO_SCOREBOARD;

	if (!sass_lacks_board(insn) || has_known_time(arch, insn))
		return late;
	late.written = !stores && sass_field(insn, 16, 8) != SASS_RZ;
	late.uniform = late.written && is_uniform_result(insn);
	late.read = unguarded && sass_read_board(insn) == SASS_NO_SCOREBOARD;
	late.predicate = sass_predicate_is_slow(insn);
	return late;
}

/* May the operation access a register below n after issue, unguarded? A field that holds no register counts as one,
 * which is safe. */
static bool touches_registers(const struct sass_arch *arch, struct sass_insn insn, uint32_t n)
{
	struct late_uses late = find_late_uses(arch, insn);
	bool touches = late.written && !late.uniform && sass_field(insn, sass_operand_at[0], 8) < n;

	for (unsigned i = 1; i < SASS_OPERANDS && late.read && (i == 1 || sass_opcode(insn) != SASS_OP_LDC); i++)
		touches |= sass_field(insn, sass_operand_at[i], 8) < n;
	return touches;
}

static void find_operations(const struct sass_code *code, uint32_t regs, struct sass_flights *f)
{
	for (uint32_t i = 0; i < code->n; i++)
		if (touches_registers(code->arch, sass_code_at(code, i), regs))
			f->at[f->n++] = i;
}

/* -- the transfer function -- */

static bool works_in_order(uint32_t operation)
{
	static const uint16_t units[] = {
#define SASS_IN_ORDER(operation, name, reads) operation,
#include "backends/cuda/sass/isa/flight.def"
#undef SASS_IN_ORDER
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (units[i] == operation)
			return true;
	return false;
}

/* Returns the scoreboard, as a bit, after which all earlier operations of the instruction's unit are complete; 0:
 * none. */
static uint8_t unit_board(struct sass_insn insn)
{
	unsigned board = sass_write_board(insn);

	return works_in_order(sass_opcode(insn) & 0x1ff) && sass_field(insn, 12, 4) == SASS_PT &&
			       board != SASS_NO_SCOREBOARD ?
		       1u << board :
		       0;
}

/* Computes w->next, the states after instruction i, from those before it. */
static void apply_insn(const struct flight_analysis *w, uint32_t i, const uint8_t *before)
{
	struct sass_insn insn = sass_code_at(w->code, i);
	uint8_t waits = sass_wait_mask(insn), board = unit_board(insn);
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	for (uint32_t k = 0; k < w->f->n; k++) {
		uint8_t state = before[k] & waits ? 0 : before[k];

		if (state && board && (sass_opcode(sass_code_at(w->code, w->f->at[k])) & 0x1ff) == operation)
			state |= board;
		w->next[k] = w->f->at[k] == i ? IN_FLIGHT : state;
	}
}

/* Merges the states of one more incoming edge into `to`. An operation is in flight if it is on any edge. A
 * scoreboard ends it only if it does so on every edge where it is in flight. Returns true if `to` changed. */
static bool merge_state(const struct flight_analysis *w, uint8_t *to, const uint8_t *from)
{
	bool changed = false;

	for (uint32_t k = 0; k < w->f->n; k++) {
		uint8_t both = to[k] && from[k] ? to[k] & from[k] : to[k] | from[k];

		changed |= both != to[k];
		to[k] = both;
	}
	return changed;
}

/* -- the edges -- */

static uint8_t *state_before(const struct flight_analysis *w, uint32_t i)
{
	return w->f->state + (size_t)i * w->f->n;
}

static void flow_state_to(struct flight_analysis *w, int64_t i, const uint8_t *state)
{
	if (i >= 0 && i < w->code->n && merge_state(w, state_before(w, i), state))
		w->changed = w->due[i] = true;
}

static void flow_to(struct flight_analysis *w, int64_t i)
{
	flow_state_to(w, i, w->next);
}

static int64_t target(const struct flight_analysis *w, uint32_t i)
{
	int64_t off = sass_branch(w->code->arch, sass_code_at(w->code, i));

	return off % SASS_INSN ? -1 : (int64_t)i + 1 + off / SASS_INSN;
}

static bool has_unknown_target(struct sass_insn insn)
{
	enum sass_class class = sass_op_find(sass_opcode(insn))->class;

	return class == SASS_INDIRECT || sass_opcode(insn) == OP_CALL_REGISTER;
}

/* Lanes that wait at a BSYNC continue at the target of a BSSY of the same barrier. */
static void flow_reconvergence(struct flight_analysis *w, struct sass_insn bsync)
{
	for (uint32_t m = 0; m < w->nbssys; m++) {
		struct sass_insn bssy = sass_code_at(w->code, w->bssys[m]);

		if (sass_field(bssy, 16, 4) == sass_field(bsync, 16, 4))
			flow_to(w, target(w, w->bssys[m]));
	}
}

static void visit_insn(struct flight_analysis *w, uint32_t i)
{
	struct sass_insn insn = sass_code_at(w->code, i);
	enum sass_class class = sass_op_find(sass_opcode(insn))->class;
	bool ends = sass_is_unconditional(insn) &&
		    (class == SASS_EXIT || (sass_opcode(insn) & 0x1ff) == (SASS_OP_BRA & 0x1ff));

	apply_insn(w, i, state_before(w, i));
	if (has_unknown_target(insn))
		w->changed |= merge_state(w, w->anywhere, w->next);
	else if (class == SASS_BRANCH)
		flow_to(w, target(w, i));
	if (sass_opcode(insn) == SASS_OP_BSYNC)
		flow_reconvergence(w, insn);
	if (!ends)
		flow_to(w, (int64_t)i + 1);
}

static void solve(struct flight_analysis *w)
{
	do {
		w->changed = false;
		for (uint32_t i = 0; i < w->code->n; i++) {
			if (w->jumps)
				flow_state_to(w, i, w->anywhere);
			if (w->due[i]) {
				w->due[i] = false;
				visit_insn(w, i);
			}
		}
	} while (w->changed);
}

/* -- entry points -- */

static void find_jumps(struct flight_analysis *w)
{
	for (uint32_t i = 0; i < w->code->n; i++) {
		struct sass_insn insn = sass_code_at(w->code, i);

		w->jumps |= has_unknown_target(insn);
		if (sass_opcode(insn) == SASS_OP_BSSY)
			w->bssys[w->nbssys++] = i;
	}
}

static int analyze(const struct sass_code *code, struct sass_flights *f)
{
	struct flight_analysis w = { .code = code, .f = f };
	int err = 0;

	f->state = calloc(code->n, f->n);
	w.bssys = calloc(code->n, sizeof(*w.bssys));
	w.anywhere = calloc(f->n, 2);
	w.due = malloc(code->n * sizeof(*w.due));
	if (!f->state || !w.bssys || !w.anywhere || !w.due)
		err = -ENOMEM;
	if (!err) {
		w.next = w.anywhere + f->n;
		memset(w.due, true, code->n * sizeof(*w.due));
		find_jumps(&w);
		solve(&w);
	}
	free(w.bssys);
	free(w.anywhere);
	free(w.due);
	return err;
}

int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *f)
{
	int err = 0;

	*f = (struct sass_flights){ .at = calloc(code->n + 1, sizeof(*f->at)) };
	if (!f->at)
		return -ENOMEM;
	find_operations(code, regs, f);
	if (f->n && (uint64_t)code->n * f->n <= MAX_STATE_BYTES)
		err = analyze(code, f);
	if (err < 0)
		sass_flights_finish(f);
	return err;
}

void sass_flights_finish(struct sass_flights *f)
{
	free(f->at);
	free(f->state);
	*f = (struct sass_flights){ 0 };
}

/* May operation k be in flight before instruction i, after a wait there for the scoreboards `waits`? */
static bool is_in_flight(const struct sass_flights *f, uint32_t i, uint32_t k, unsigned waits)
{
	uint8_t state = f->state ? f->state[(size_t)i * f->n + k] : IN_FLIGHT;

	return state && !(state & waits);
}

bool sass_flight_at_exit(const struct sass_code *code, const struct sass_flights *f, uint32_t k)
{
	for (uint32_t e = 0; e < code->nexits; e++)
		if (is_in_flight(f, code->exits[e], k, SASS_ALL_BOARDS))
			return true;
	return false;
}
