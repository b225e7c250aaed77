/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worst cases. Checkpoints form a tree: each remembers what the path from the one before cost, and the most
 * that any path from it to the end does. A path that stops at a covering state takes over the rest of that.
 */
#include "verify.h"

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
}

void tally_max(struct tally *max, const struct tally *t)
{
#define MAX(field) max->cost.field = t->cost.field > max->cost.field ? t->cost.field : max->cost.field;
	EACH_COST(MAX)
#undef MAX
	for (int i = 0; i < MAX_LOOPS; i++)
		max->trips[i] = t->trips[i] > max->trips[i] ? t->trips[i] : max->trips[i];
}

void tally_jump(struct verifier *v, struct state *st, uint32_t pc)
{
	if (v->aux[pc].loop)
		st->tally.trips[v->aux[pc].loop - 1]++;
}

/* The current path ends, with `rest` to come after it. Checkpoints whose paths are all done are complete,
 * and hand their worst case to the one before. */
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
	return a > UINT64_MAX / n ? UINT64_MAX : a * n;
}

void gpubpf_cost_warp(const struct gpubpf_prog *prog, uint32_t lanes, struct gpubpf_cost *warp)
{
	const struct gpubpf_facts *f = prog->facts;
	bool apart = false;

	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		apart |= (f->insn[pc].flags & (GPUBPF_FACT_REACHED | GPUBPF_FACT_DIVERGENT)) ==
			 (GPUBPF_FACT_REACHED | GPUBPF_FACT_DIVERGENT);
	*warp = f->cost;
#define EACH_LANE(field) warp->field = times(warp->field, lanes);
	EACH_COST(EACH_LANE)
#undef EACH_LANE
	if (!apart)
		warp->insns = f->cost.insns;
}
