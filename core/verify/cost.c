/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes worst cases. Checkpoints form a tree. Each stores the cost of the path from its parent, and the maximum over
 * all paths from it to the end. A path that stops at a covering state takes over that state's remaining cost.
 *
 * A helper that calls back is walked until an iteration reaches no new state, not once per iteration. So the maximum
 * cost of one iteration is computed in the same way, from the helper's checkpoint to the callback's return. Paths count
 * their calls of the helper. At the end each call's cost is multiplied by its maximum number of iterations.
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
 * Ends the current path; `rest` is the cost from here to the end of the program. A checkpoint is complete when all its
 * paths are done; then its worst case propagates to its parent.
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

void rounds_begin(struct verifier *v, uint64_t most)
{
	uint8_t number = v->aux[v->pc].calling;

	if (!number || cur_frame(v)->rounds)
		return;
	v->cur->tally.calls[number - 1]++;
	if (most > v->calling[number - 1].rounds)
		v->calling[number - 1].rounds = most;
}

/*
 * Records the end of the iteration in frame `depth`, at cost `rest` after the last checkpoint. Propagates this cost up
 * to the checkpoint at which the iteration began.
 */
static void propagate_round(struct verifier *v, uint32_t depth, const struct tally *rest)
{
	uint32_t call = v->cur->frame[depth]->callsite;
	struct tally tail = *rest;

	for (struct checkpoint *c = v->cur->parent; c; c = c->parent) {
		bool begins = c->pc == call && c->state && c->state->nframes == depth;

		if (!c->round && !(c->round = calloc(GPUBPF_MAX_FRAMES, sizeof(*c->round)))) {
			v->no_memory = true;
			return;
		}
		if (begins && v->aux[call].calling) {
			tail.calls[v->aux[call].calling - 1] = 0; /* do not count the call whose iteration this is */
			tally_max(&v->calling[v->aux[call].calling - 1].round, &tail);
		}
		if (begins)
			return;
		tally_max(&c->round[depth], &tail);
		tail = c->round[depth];
		tally_add(&tail, &c->from_parent);
	}
}

void round_end(struct verifier *v)
{
	propagate_round(v, v->cur->nframes - 1, &v->cur->tally);
}

void round_covered(struct verifier *v, const struct checkpoint *c)
{
	for (uint32_t depth = 1; c->round && depth < v->cur->nframes; depth++) {
		struct tally tail = v->cur->tally;

		tally_add(&tail, &c->round[depth]);
		if (v->cur->frame[depth]->called_back)
			propagate_round(v, depth, &tail);
	}
}

/* Adds the cost of all iterations of the calls in `t`. The recursion ends because functions do not call themselves. */
static void multiply(const struct verifier *v, struct tally *t)
{
	for (uint32_t i = 0; i < v->ncalling && i < MAX_CALLING; i++) {
		uint64_t n = times(t->calls[i], v->calling[i].rounds);
		struct tally round = v->calling[i].round;

		if (!n)
			continue;
		t->calls[i] = 0;
		multiply(v, &round);
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
	multiply(v, &v->worst);
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
