/* SPDX-License-Identifier: Apache-2.0 */
#include "liveness.h"

#include <errno.h>
#include <stdlib.h>

#include "dataflow.h"

/* -- sets -- */

static void add_registers(struct sass_set *set, const struct sass_operand *x)
{
	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t bit = (x->uniform ? SASS_LIVE_UNIFORM : 0) + x->reg + k;

		set->word[bit / 64] |= 1ull << bit % 64;
	}
}

/* the registers and predicates that an instruction reads and writes */
struct uses {
	struct sass_set read, written;
	bool always; /* the instruction has no guard, so its writes end live ranges */
};

static struct uses find_uses(const struct sass_insn *insn)
{
	struct uses u = { .always = insn->guard == SASS_PT };

	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		add_registers(insn->operand[o].written ? &u.written : &u.read, &insn->operand[o]);
	u.read.word[SASS_LIVE_PREDICATES / 64] = sass_predicates_read(*insn);
	u.written.word[SASS_LIVE_PREDICATES / 64] = sass_predicates_written(*insn);
	return u;
}

/* Adds the words of *from, starting with word `first`, to *to. Returns true if *to has changed. */
static bool add_set(struct sass_set *to, const struct sass_set *from, unsigned first)
{
	uint64_t added = 0;

	for (unsigned k = first; k < SASS_LIVE_WORDS; k++) {
		added |= from->word[k] & ~to->word[k];
		to->word[k] |= from->word[k];
	}
	return added;
}

struct sass_set sass_live_out(const struct sass_liveness *live, uint32_t i)
{
	const struct sass_block *block = sass_cfg_block(live->cfg, i);
	struct sass_set set = { 0 };

	if (i + 1 < block->end)
		return live->in[i + 1];
	for (uint32_t k = 0; k < block->nsucc; k++)
		add_set(&set, &live->in[live->cfg->blocks[live->cfg->succ[block->succ + k]].begin], live->first);
	return set;
}

/* -- liveness -- */

struct solver {
	struct sass_liveness *live;
	const struct sass_cfg *cfg;
	struct uses *uses;                /* per instruction */
	struct sass_set *states;          /* per block; zero at the start of each data flow */
	struct sass_set *before, *killed; /* per block. before: registers read before any write. killed: registers that
	                                   * it always writes. drop_unwritten() adds all that the block may write. */
};

/* Turns the live set after an instruction into the live set before it. */
static void step_back(struct sass_set *set, const struct uses *u, unsigned first)
{
	for (unsigned k = first; k < SASS_LIVE_WORDS; k++)
		set->word[k] = (u->always ? set->word[k] & ~u->written.word[k] : set->word[k]) | u->read.word[k];
}

static void sum_up_block(struct solver *s, uint32_t b)
{
	for (uint32_t i = s->cfg->blocks[b].end; i-- > s->cfg->blocks[b].begin;) {
		step_back(&s->before[b], &s->uses[i], s->live->first);
		if (s->uses[i].always)
			add_set(&s->killed[b], &s->uses[i].written, s->live->first);
	}
}

static void apply_block(void *arg, uint32_t b, void *state)
{
	const struct solver *s = arg;
	struct sass_set *set = state;

	for (unsigned k = s->live->first; k < SASS_LIVE_WORDS; k++)
		set->word[k] = (set->word[k] & ~s->killed[b].word[k]) | s->before[b].word[k];
}

static bool merge_sets(void *arg, uint32_t b, void *to, const void *from)
{
	const struct solver *s = arg;

	(void)b;
	return add_set(to, from, s->live->first);
}

static void fill_block(struct solver *s, uint32_t b)
{
	const struct sass_block *block = &s->cfg->blocks[b];
	struct sass_set set = s->states[b];

	for (uint32_t i = block->end; i-- > block->begin;) {
		step_back(&set, &s->uses[i], s->live->first);
		s->live->in[i] = set;
	}
}

static int find_live(struct solver *s)
{
	struct sass_dataflow flow = { .cfg = s->cfg,
				      .backward = true,
				      .size = sizeof(*s->states),
				      .transfer = apply_block,
				      .merge = merge_sets,
				      .arg = s };
	int err;

	for (uint32_t b = 0; b < s->cfg->nblocks; b++)
		sum_up_block(s, b);
	err = sass_dataflow_solve(&flow, s->states);
	for (uint32_t b = 0; b < s->cfg->nblocks; b++)
		fill_block(s, b);
	return err;
}

/* -- what may have been written before an instruction -- */

static void add_written(void *arg, uint32_t b, void *state)
{
	const struct solver *s = arg;

	add_set(state, &s->killed[b], s->live->first);
}

/* Removes from the live sets the registers and predicates that no path has written. */
static int drop_unwritten(struct solver *s)
{
	struct sass_dataflow flow = {
		.cfg = s->cfg, .size = sizeof(*s->states), .transfer = add_written, .merge = merge_sets, .arg = s
	};
	int err;

	memset(s->states, 0, s->cfg->nblocks * sizeof(*s->states));
	for (uint32_t i = 0; i < s->cfg->ninsns; i++)
		add_set(&s->killed[s->cfg->block_of[i]], &s->uses[i].written, s->live->first);
	err = sass_dataflow_solve(&flow, s->states);
	for (uint32_t i = 0; i < s->cfg->ninsns; i++) {
		struct sass_set *before = &s->states[s->cfg->block_of[i]];

		for (unsigned k = s->live->first; k < SASS_LIVE_WORDS; k++)
			s->live->in[i].word[k] &= before->word[k];
		add_set(before, &s->uses[i].written, s->live->first);
	}
	return err;
}

int sass_liveness_find(const struct sass_cfg *cfg, struct sass_insns insns, bool written_predicates,
		       struct sass_liveness *live)
{
	struct solver s = { .live = live, .cfg = cfg };
	int err = -ENOMEM;

	*live = (struct sass_liveness){ cfg, calloc(cfg->ninsns + 1, sizeof(*live->in)),
					written_predicates ? SASS_LIVE_PREDICATES / 64 : 0 };
	s.uses = malloc((cfg->ninsns + 1) * sizeof(*s.uses));
	s.states = calloc(3 * (size_t)cfg->nblocks + 1, sizeof(*s.states));
	s.before = s.states + cfg->nblocks;
	s.killed = s.before + cfg->nblocks;
	if (live->in && s.uses && s.states) {
		for (uint32_t i = 0; i < cfg->ninsns; i++)
			s.uses[i] = find_uses(sass_insns_at(insns, i));
		err = find_live(&s);
		if (!err && written_predicates)
			err = drop_unwritten(&s);
	}
	if (err < 0)
		sass_liveness_finish(live);
	free(s.uses);
	free(s.states);
	return err;
}

void sass_liveness_finish(struct sass_liveness *live)
{
	free(live->in);
	*live = (struct sass_liveness){ 0 };
}

void sass_liveness_dump(const struct sass_liveness *live, FILE *to)
{
	for (uint32_t i = 0; i < live->cfg->ninsns; i++) {
		fprintf(to, "%u:", i);
		for (uint32_t bit = 0; bit < 64 * SASS_LIVE_WORDS; bit++)
			if (sass_set_has(&live->in[i], bit))
				fprintf(to,
					bit < SASS_LIVE_UNIFORM    ? " R%u" :
					bit < SASS_LIVE_PREDICATES ? " UR%u" :
								     " P%u",
					bit < SASS_LIVE_UNIFORM    ? bit :
					bit < SASS_LIVE_PREDICATES ? bit - SASS_LIVE_UNIFORM :
								     bit - SASS_LIVE_PREDICATES);
		fputc('\n', to);
	}
}
