/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes worst-case costs. The checkpoints of all paths form a tree. Each checkpoint stores the cost of the path from
 * its parent, and the maximum cost of all paths from it to the end. If a path stops because a stored state covers its
 * state, it adds the stored state's remaining cost.
 *
 * A helper with a callback is not walked once per iteration, but until an iteration reaches no new state. So the
 * maximum cost of one iteration is computed in the same way, from the helper's checkpoint to the callback's return.
 * Each path counts its calls of such helpers. At the end, the cost of one iteration is multiplied by the maximum number
 * of iterations of each call.
 */
#include "verify.h"

#include <stdlib.h>

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#define EACH_COST(DO) DO(insns) DO(loads) DO(stores) DO(atomics) DO(event_bytes) DO(prints)

void tally_add(struct tally *to, const struct tally *t)
{
#define ADD(field) to->cost.field = sum(to->cost.field, t->cost.field);
	EACH_COST(ADD)
#undef ADD
	for (int i = 0; i < MAX_LOOPS; i++)
		to->trips[i] += t->trips[i];
	for (int i = 0; i < MAX_CALLING; i++)
		to->calls[i] += t->calls[i];
}

void tally_max(struct tally *max, const struct tally *t)
{
#define MAX(field) max->cost.field = t->cost.field > max->cost.field ? t->cost.field : max->cost.field;
	EACH_COST(MAX)
#undef MAX
	for (int i = 0; i < MAX_LOOPS; i++)
		max->trips[i] = t->trips[i] > max->trips[i] ? t->trips[i] : max->trips[i];
	for (int i = 0; i < MAX_CALLING; i++)
		max->calls[i] = t->calls[i] > max->calls[i] ? t->calls[i] : max->calls[i];
}

void tally_jump(struct verifier *v, struct state *st, uint32_t pc)
{
	if (v->aux[pc].loop)
		st->tally.trips[v->aux[pc].loop - 1]++;
}

/*
 * Ends the current path. `rest` is the cost from here to the end of the program. When all paths from a checkpoint have
 * ended, its worst case is known and propagates to its parent.
 */
void path_done(struct verifier *v, const struct tally *rest)
{
	struct tally tail = v->cur->tally;
	struct checkpoint *c = v->cur->parent;

	tally_add(&tail, rest);
	for (; c; c = c->parent) {
		tally_max(&c->rest, &tail);
		if (--c->branches)
			return;
		tail = c->rest;
		tally_add(&tail, &c->from_parent);
	}
	tally_max(&v->worst, &tail);
}

static uint64_t times(uint64_t a, uint64_t n)
{
	return n && a > UINT64_MAX / n ? UINT64_MAX : a * n;
}

static void rounds_begin_with(struct verifier *v, uint32_t number, uint64_t most)
{
	v->cur->tally.calls[number - 1]++;
	if (most > v->calling[number - 1].rounds)
		v->calling[number - 1].rounds = most;
}

void rounds_begin(struct verifier *v, uint64_t most)
{
	if (v->aux[v->pc].calling && !cur_frame(v)->rounds)
		rounds_begin_with(v, v->aux[v->pc].calling, most);
}

/* An iteration: the instruction at which it began, and its index in checkpoint.round. */
struct iteration {
	uint32_t pc, key;
	uint32_t depth; /* number of the caller's frames, for a helper with a callback */
	uint32_t id;    /* id of loop_at(), or 0 */
};

static bool begins_at(const struct verifier *v, const struct iteration *it, const struct checkpoint *c)
{
	if (c->pc != it->pc || !c->state)
		return false;
	return it->id ? loop_at(v, c->state, it->pc).id == it->id : c->state->nframes == it->depth;
}

/*
 * Records the end of an iteration. `rest` is the cost since the last checkpoint. Propagates the cost up to the
 * checkpoint at which the iteration began.
 */
static void propagate_round(struct verifier *v, const struct iteration *it, const struct tally *rest)
{
	uint8_t number = v->aux[it->pc].calling;
	struct tally tail = *rest;

	for (struct checkpoint *c = v->cur->parent; c; c = c->parent) {
		bool begins = begins_at(v, it, c);

		if (!c->round && !(c->round = calloc(MAX_ROUNDS, sizeof(*c->round)))) {
			v->no_memory = true;
			return;
		}
		if (begins && number) {
			/* do not count the loop to which this iteration belongs */
			tail.calls[number - 1] = 0;
			tally_max(&v->calling[number - 1].round, &tail);
		}
		if (begins)
			return;
		tally_max(&c->round[it->key], &tail);
		tail = c->round[it->key];
		tally_add(&tail, &c->from_parent);
	}
}

void round_end(struct verifier *v)
{
	uint32_t depth = v->cur->nframes - 1;
	struct iteration it = { .pc = v->cur->frame[depth]->callsite, .key = depth, .depth = depth };

	propagate_round(v, &it, &v->cur->tally);
}

/* A path ends inside iterations of the loop at calling[i], because c covers it. */
static void loop_covered(struct verifier *v, const struct checkpoint *c, uint32_t i)
{
	struct iteration it = { .pc = v->calling[i].pc, .key = GPUBPF_MAX_FRAMES + i };
	const struct checkpoint *from = v->cur->parent;
	struct tally tail = v->cur->tally;

	while (from && (from->pc != it.pc || !from->state))
		from = from->parent;
	if (!from || !c->round[it.key].cost.insns)
		return;
	it.id = loop_at(v, from->state, it.pc).id;
	tally_add(&tail, &c->round[it.key]);
	propagate_round(v, &it, &tail);
}

void round_covered(struct verifier *v, const struct checkpoint *c)
{
	for (uint32_t depth = 1; c->round && depth < v->cur->nframes; depth++) {
		struct iteration it = { .pc = v->cur->frame[depth]->callsite, .key = depth, .depth = depth };
		struct tally tail = v->cur->tally;

		tally_add(&tail, &c->round[depth]);
		if (v->cur->frame[depth]->called_back)
			propagate_round(v, &it, &tail);
	}
	for (uint32_t i = 0; c->round && i < v->ncalling && i < MAX_CALLING; i++)
		if (v->aux[v->calling[i].pc].advances)
			loop_covered(v, c, i);
}

void rounds_arrive(struct verifier *v, uint32_t pc)
{
	struct loop_state loop = loop_at(v, v->cur, pc);
	uint32_t number = v->aux[pc].calling;
	struct iteration it = { .pc = pc, .key = GPUBPF_MAX_FRAMES + number - 1, .id = loop.id };
	const struct checkpoint *c = v->cur->parent;

	if (!loop.id)
		return; /* do_call() refuses the call */
	while (c && !begins_at(v, &it, c))
		c = c->parent;
	if (c && number)
		propagate_round(v, &it, &v->cur->tally);
	if (c)
		widen_state(v, v->cur, c->state);
	else if (number)
		rounds_begin_with(v, number, loop.left);
}

/*
 * Adds the cost of all iterations of the loops that are counted in `t`. Loops nest at most MAX_CALLING deep; if one
 * loop is inside of itself in two iterations, the cost has no bound.
 */
static void multiply(const struct verifier *v, struct tally *t, uint32_t depth)
{
	for (uint32_t i = 0; i < v->ncalling && i < MAX_CALLING; i++) {
		uint64_t n = times(t->calls[i], v->calling[i].rounds);
		struct tally round = v->calling[i].round;

		if (!n)
			continue;
		t->calls[i] = 0;
		if (depth == MAX_CALLING) {
			t->cost.insns = UINT64_MAX;
			return;
		}
		multiply(v, &round, depth + 1);
#define TIMES(field) t->cost.field = sum(t->cost.field, times(round.cost.field, n));
		EACH_COST(TIMES)
#undef TIMES
		for (int k = 0; k < MAX_LOOPS; k++) {
			uint64_t trips = sum(t->trips[k], times(round.trips[k], n));

			t->trips[k] = trips < UINT32_MAX ? (uint32_t)trips : UINT32_MAX;
		}
	}
}

void rounds_add(struct verifier *v)
{
	multiply(v, &v->worst, 0);
	if (v->ncalling > MAX_CALLING)
		v->worst.cost.insns = UINT64_MAX;
}

void gpubpf_cost_warp(const struct gpubpf_prog *prog, uint32_t lanes, struct gpubpf_cost *warp)
{
	const struct gpubpf_facts *f = prog->facts;
	bool divergent = false;

	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		divergent |= (f->insn[pc].flags & (GPUBPF_FACT_REACHED | GPUBPF_FACT_DIVERGENT)) ==
			     (GPUBPF_FACT_REACHED | GPUBPF_FACT_DIVERGENT);
	*warp = f->cost;
#define EACH_LANE(field) warp->field = times(warp->field, lanes);
	EACH_COST(EACH_LANE)
#undef EACH_LANE
	if (!divergent)
		warp->insns = f->cost.insns;
}
