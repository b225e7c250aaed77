/* SPDX-License-Identifier: Apache-2.0 */
#include "cfg.h"

#include <errno.h>
#include <stdlib.h>

/* -- instructions -- */

bool sass_ends_path(struct sass_insn insn)
{
	return sass_is_unconditional(insn) && ((insn.opcode == SASS_OP_BRA && !insn.mode) || insn.opcode == SASS_OP_EXIT);
}

int64_t sass_target_of(const struct sass_arch *arch, const struct sass_insn *insns, uint32_t i)
{
	bool branches = sass_op(insns[i])->class == SASS_BRANCH && insns[i].opcode != SASS_OP_CALL_REGISTER;
	int64_t offset = branches || sass_has_target(insns[i]) ? sass_branch(arch, insns[i]) : -1;

	return offset % SASS_INSN ? -1 : (int64_t)i + 1 + offset / SASS_INSN;
}

/* -- edges -- */

void sass_cfg_begin(struct sass_cfg *cfg, uint32_t ninsns)
{
	*cfg = (struct sass_cfg){ .ninsns = ninsns };
	cfg->ends = calloc(ninsns + 1, sizeof(*cfg->ends));
	cfg->block_of = calloc(ninsns + 1, sizeof(*cfg->block_of));
	cfg->failed = !cfg->ends || !cfg->block_of;
}

void sass_cfg_add_edge(struct sass_cfg *cfg, uint32_t from, int64_t to)
{
	struct sass_edge *grown;

	if (cfg->failed || to < 0 || to >= cfg->ninsns)
		return;
	if (cfg->nedges == cfg->room) {
		cfg->room = 2 * cfg->room + 64;
		grown = realloc(cfg->edges, cfg->room * sizeof(*grown));
		cfg->failed = !grown;
		if (!grown)
			return;
		cfg->edges = grown;
	}
	cfg->edges[cfg->nedges++] = (struct sass_edge){ from, to };
}

void sass_cfg_end_path(struct sass_cfg *cfg, uint32_t i)
{
	if (!cfg->failed)
		cfg->ends[i] = true;
}

/* -- blocks -- */

/* Numbers the blocks. At first block_of[i] is 1 if instruction i begins a block. The sums of these values are the
 * numbers of the blocks. */
static void find_blocks(struct sass_cfg *cfg)
{
	for (uint32_t e = 0; e < cfg->nedges; e++) {
		cfg->block_of[cfg->edges[e].to] = 1;
		cfg->block_of[cfg->edges[e].from + 1] = 1;
	}
	for (uint32_t i = 0; i < cfg->ninsns; i++)
		if (cfg->ends[i])
			cfg->block_of[i + 1] = 1;
	cfg->block_of[0] = 0;
	for (uint32_t i = 1; i < cfg->ninsns; i++)
		cfg->block_of[i] += cfg->block_of[i - 1];
	cfg->nblocks = cfg->ninsns ? cfg->block_of[cfg->ninsns - 1] + 1 : 0;
}

static void set_bounds(struct sass_cfg *cfg)
{
	for (uint32_t i = 0; i < cfg->ninsns; i++) {
		struct sass_block *b = &cfg->blocks[cfg->block_of[i]];

		if (!b->end)
			*b = (struct sass_block){ .begin = i, .idom = SASS_NONE, .loop = SASS_NONE, .order = SASS_NONE };
		b->end = i + 1;
	}
}

static bool falls_through(const struct sass_cfg *cfg, uint32_t b)
{
	return cfg->blocks[b].end < cfg->ninsns && !cfg->ends[cfg->blocks[b].end - 1];
}

static void link_blocks(struct sass_cfg *cfg, uint32_t from, uint32_t to)
{
	struct sass_block *a = &cfg->blocks[from], *b = &cfg->blocks[to];

	for (uint32_t k = 0; k < a->nsucc; k++)
		if (cfg->succ[a->succ + k] == to)
			return;
	cfg->succ[a->succ + a->nsucc++] = to;
	cfg->pred[b->pred + b->npred++] = from;
}

/* Sets the range of each block in succ[] and pred[], then fills both. */
static void set_edges(struct sass_cfg *cfg)
{
	for (uint32_t e = 0; e < cfg->nedges; e++) {
		cfg->blocks[cfg->block_of[cfg->edges[e].from]].nsucc++;
		cfg->blocks[cfg->block_of[cfg->edges[e].to]].npred++;
	}
	for (uint32_t b = 0, succ = 0, pred = 0; b < cfg->nblocks; b++) {
		struct sass_block *block = &cfg->blocks[b];

		block->succ = succ;
		block->pred = pred;
		succ += block->nsucc + 1; /* 1 more for the fall-through */
		pred += block->npred + 1; /* 1 more for the fall-through */
		block->nsucc = block->npred = 0;
	}
	for (uint32_t b = 0; b < cfg->nblocks; b++)
		if (falls_through(cfg, b))
			link_blocks(cfg, b, b + 1);
	for (uint32_t e = 0; e < cfg->nedges; e++)
		link_blocks(cfg, cfg->block_of[cfg->edges[e].from], cfg->block_of[cfg->edges[e].to]);
}

/* -- reverse postorder -- */

/* Walks the graph depth first from `entry` and stores each finished block in rpo[], downwards from index last - 1.
 * Returns the new `last`. stack[] holds the blocks of the current path. at[b] is the next successor of block b to
 * visit. */
static uint32_t walk(struct sass_cfg *cfg, uint32_t entry, uint32_t *stack, uint32_t *at, uint32_t last)
{
	uint32_t depth = 0;

	cfg->blocks[entry].order = 0;
	at[entry] = 0;
	stack[depth++] = entry;
	while (depth) {
		uint32_t b = stack[depth - 1], to;

		if (at[b] == cfg->blocks[b].nsucc) {
			cfg->rpo[--last] = b;
			depth--;
			continue;
		}
		to = cfg->succ[cfg->blocks[b].succ + at[b]++];
		if (cfg->blocks[to].order != SASS_NONE)
			continue;
		cfg->blocks[to].order = 0;
		at[to] = 0;
		stack[depth++] = to;
	}
	return last;
}

/* Orders the blocks by depth-first walks from the first block, then from the blocks without predecessors, then from
 * loops that no earlier walk has reached. */
static int find_order(struct sass_cfg *cfg)
{
	uint32_t *stack = calloc(2 * (size_t)cfg->nblocks + 1, sizeof(*stack)), last = cfg->nblocks;

	if (!stack)
		return -ENOMEM;
	for (int round = 0; round < 3; round++)
		for (uint32_t b = 0; b < cfg->nblocks; b++)
			if (cfg->blocks[b].order == SASS_NONE && (!b || round == 2 || (round && !cfg->blocks[b].npred)))
				last = walk(cfg, b, stack, stack + cfg->nblocks, last);
	for (uint32_t k = 0; k < cfg->nblocks; k++)
		cfg->blocks[cfg->rpo[k]].order = k;
	free(stack);
	return 0;
}

/* -- dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" -- */

#define UNSEEN (SASS_NONE - 1)

/* Returns the nearest common dominator of blocks a and b. SASS_NONE stands for a virtual root above all entries. */
static uint32_t find_common_dominator(const struct sass_cfg *cfg, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (a == SASS_NONE || b == SASS_NONE)
			return SASS_NONE;
		if (cfg->blocks[a].order > cfg->blocks[b].order)
			a = cfg->blocks[a].idom;
		else
			b = cfg->blocks[b].idom;
	}
	return a;
}

static bool is_entry(const struct sass_cfg *cfg, uint32_t b)
{
	const struct sass_block *block = &cfg->blocks[b];

	for (uint32_t k = 0; b && k < block->npred; k++)
		if (cfg->blocks[cfg->pred[block->pred + k]].order < block->order)
			return false;
	return true;
}

static bool update_dominator(struct sass_cfg *cfg, uint32_t b)
{
	struct sass_block *block = &cfg->blocks[b];
	uint32_t idom = is_entry(cfg, b) ? SASS_NONE : UNSEEN, was = block->idom;

	for (uint32_t k = 0; idom != SASS_NONE && k < block->npred; k++) {
		uint32_t p = cfg->pred[block->pred + k];

		if (cfg->blocks[p].idom != UNSEEN)
			idom = idom == UNSEEN ? p : find_common_dominator(cfg, idom, p);
	}
	block->idom = idom;
	return idom != was;
}

static void find_dominators(struct sass_cfg *cfg)
{
	bool changed = true;

	for (uint32_t b = 0; b < cfg->nblocks; b++)
		cfg->blocks[b].idom = UNSEEN;
	while (changed) {
		changed = false;
		for (uint32_t k = 0; k < cfg->nblocks; k++)
			changed |= update_dominator(cfg, cfg->rpo[k]);
	}
}

bool sass_cfg_dominates(const struct sass_cfg *cfg, uint32_t a, uint32_t b)
{
	while (b != a && b != SASS_NONE)
		b = cfg->blocks[b].idom;
	return b == a;
}

/* -- loops -- */

/* Adds to the loop of `header` all blocks that reach `latch` without going through the header. The caller handles
 * headers in reverse postorder, so the header of an inner loop overwrites the header of an outer loop. */
static void add_loop(struct sass_cfg *cfg, uint32_t header, uint32_t latch, uint32_t *work, uint32_t *seen)
{
	uint32_t n = 0;

	work[n++] = latch;
	while (n) {
		struct sass_block *block = &cfg->blocks[work[--n]];

		if (seen[block - cfg->blocks] == header + 1)
			continue;
		seen[block - cfg->blocks] = header + 1;
		block->loop = header;
		block->depth++;
		for (uint32_t k = 0; block != &cfg->blocks[header] && k < block->npred; k++)
			if (seen[cfg->pred[block->pred + k]] != header + 1)
				work[n++] = cfg->pred[block->pred + k];
	}
}

static int find_loops(struct sass_cfg *cfg)
{
	uint32_t *work = calloc((size_t)cfg->nedges + 2 * (size_t)cfg->nblocks + 1, sizeof(*work)),
		 *seen = calloc(cfg->nblocks + 1, sizeof(*seen));

	for (uint32_t k = 0; work && seen && k < cfg->nblocks; k++) {
		const struct sass_block *header = &cfg->blocks[cfg->rpo[k]];

		for (uint32_t p = 0; p < header->npred; p++) {
			uint32_t latch = cfg->pred[header->pred + p];

			if (cfg->blocks[latch].order < header->order)
				continue;
			if (sass_cfg_dominates(cfg, cfg->rpo[k], latch))
				add_loop(cfg, cfg->rpo[k], latch, work, seen);
			else
				cfg->irreducible = true;
		}
	}
	free(work);
	free(seen);
	return work && seen ? 0 : -ENOMEM;
}

/* -- entry points -- */

int sass_cfg_build(struct sass_cfg *cfg)
{
	int err = cfg->failed ? -ENOMEM : 0;

	if (err < 0)
		return err;
	find_blocks(cfg);
	cfg->blocks = calloc(cfg->nblocks + 1, sizeof(*cfg->blocks));
	cfg->rpo = calloc(cfg->nblocks + 1, sizeof(*cfg->rpo));
	cfg->succ = calloc((size_t)cfg->nedges + cfg->nblocks + 1, sizeof(*cfg->succ));
	cfg->pred = calloc((size_t)cfg->nedges + cfg->nblocks + 1, sizeof(*cfg->pred));
	if (!cfg->blocks || !cfg->rpo || !cfg->succ || !cfg->pred)
		return -ENOMEM;
	set_bounds(cfg);
	set_edges(cfg);
	err = find_order(cfg);
	if (err < 0)
		return err;
	find_dominators(cfg);
	return find_loops(cfg);
}

int sass_cfg_of_probe(struct sass_cfg *cfg, const struct sass_arch *arch, const struct sass_insn *insns, uint32_t n)
{
	sass_cfg_begin(cfg, n);
	for (uint32_t i = 0; i < n; i++) {
		sass_cfg_add_edge(cfg, i, sass_target_of(arch, insns, i));
		if (sass_ends_path(insns[i]))
			sass_cfg_end_path(cfg, i);
	}
	return sass_cfg_build(cfg);
}

void sass_cfg_finish(struct sass_cfg *cfg)
{
	free(cfg->blocks);
	free(cfg->rpo);
	free(cfg->succ);
	free(cfg->pred);
	free(cfg->block_of);
	free(cfg->edges);
	free(cfg->ends);
	*cfg = (struct sass_cfg){ 0 };
}

void sass_cfg_dump_block(const struct sass_cfg *cfg, uint32_t b, FILE *to)
{
	const struct sass_block *block = &cfg->blocks[b];

	fprintf(to, "block %u: %u..%u, idom %d, loop %d, depth %u, to", b, block->begin, block->end - 1,
		(int)block->idom, (int)block->loop, block->depth);
	for (uint32_t k = 0; k < block->nsucc; k++)
		fprintf(to, " %u", cfg->succ[block->succ + k]);
	fputc('\n', to);
}

void sass_cfg_dump(const struct sass_cfg *cfg, FILE *to)
{
	for (uint32_t b = 0; b < cfg->nblocks; b++)
		sass_cfg_dump_block(cfg, b, to);
}
