/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the control-flow graph and the liveness analysis with their definitions, on random code. The basic blocks
 * contain each instruction once, and have the edges of the code. Block A dominates block B if each path from an entry
 * to B contains A. The depth of a block is the number of loop headers whose loops contain it. A register is live if
 * some path leads to a read before any write of all lanes. For a small loop, the dump of the graph and the dump of the
 * liveness have the expected text.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/liveness.h"
#include "tests/backends/cuda/case.h"
#include "tests/backends/cuda/sass/isa/insn.h"
#include "tests/tap.h"

#define PROGRAMS 2000
#define MAX_INSNS 24
#define REGS 4

struct program {
	uint32_t n;
	struct sass_insn insns[MAX_INSNS];
	bool edge[MAX_INSNS][MAX_INSNS]; /* edge[i][k]: instruction k may execute right after instruction i */
	struct sass_cfg cfg;
	struct sass_liveness live;
};

static void make_program(struct program *p)
{
	*p = (struct program){ .n = 1 + random_below(MAX_INSNS) };
	sass_cfg_begin(&p->cfg, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		bool ends = !random_below(6);

		p->insns[i] = sass_with_guard(sass_move(random_below(REGS), random_below(REGS)),
					      random_below(3) ? SASS_PT : random_below(2));
		if (ends)
			sass_cfg_end_path(&p->cfg, i);
		else if (i + 1 < p->n)
			p->edge[i][i + 1] = true;
		for (uint32_t k = random_below(4) ? 0 : 1 + random_below(2); k; k--) {
			int64_t to = (int64_t)random_below(p->n + 2) - 1; /* may lie outside of the code */

			sass_cfg_add_edge(&p->cfg, i, to);
			if (to >= 0 && to < p->n)
				p->edge[i][to] = true;
		}
	}
	if (sass_cfg_build(&p->cfg) < 0 ||
	    sass_liveness_find(&p->cfg, (struct sass_insns){ p->insns, sizeof(*p->insns) }, false, &p->live) < 0)
		abort();
}

static void finish_program(struct program *p)
{
	sass_liveness_finish(&p->live);
	sass_cfg_finish(&p->cfg);
}

/* -- blocks and edges -- */

static bool has_edge(const struct sass_cfg *cfg, uint32_t from, uint32_t to)
{
	const struct sass_block *block = sass_cfg_block(cfg, from);

	if (from + 1 < block->end)
		return to == from + 1;
	for (uint32_t k = 0; k < block->nsucc; k++)
		if (cfg->blocks[cfg->succ[block->succ + k]].begin == to)
			return true;
	return false;
}

static bool has_right_edges(const struct program *p)
{
	const struct sass_cfg *cfg = &p->cfg;
	uint32_t edges = 0, back = 0;

	for (uint32_t b = 0; b < cfg->nblocks; b++) {
		if (cfg->blocks[b].begin != (b ? cfg->blocks[b - 1].end : 0) || cfg->blocks[b].end <= cfg->blocks[b].begin)
			return false;
		edges += cfg->blocks[b].nsucc;
		back += cfg->blocks[b].npred;
	}
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = 0; j < p->n; j++)
			if (has_edge(cfg, i, j) != p->edge[i][j])
				return false;
	return edges == back && cfg->blocks[cfg->nblocks - 1].end == p->n;
}

/* -- dominators and loops -- */

/*
 * Is there a path from block `from` to block `to` that avoids block `without`? The path includes both its first and its
 * last block.
 */
static bool reaches(const struct sass_cfg *cfg, uint32_t from, uint32_t to, uint32_t without)
{
	bool seen[MAX_INSNS] = { false };
	uint32_t work[MAX_INSNS * MAX_INSNS], n = 0;

	if (from != without)
		work[n++] = from;
	while (n) {
		uint32_t b = work[--n];

		if (seen[b])
			continue;
		seen[b] = true;
		for (uint32_t k = 0; k < cfg->blocks[b].nsucc; k++)
			if (cfg->succ[cfg->blocks[b].succ + k] != without)
				work[n++] = cfg->succ[cfg->blocks[b].succ + k];
	}
	return seen[to];
}

static bool dominates(const struct sass_cfg *cfg, uint32_t a, uint32_t b)
{
	for (uint32_t e = 0; e < cfg->nblocks; e++)
		if (cfg->blocks[e].idom == SASS_NONE && reaches(cfg, e, b, a))
			return false;
	return true;
}

/* An entry is the first block, a block without predecessors, or a block of a loop that no other entry reaches. */
static bool has_right_entries(const struct sass_cfg *cfg)
{
	for (uint32_t b = 0; b < cfg->nblocks; b++) {
		bool reached = false;

		for (uint32_t e = 0; e < cfg->nblocks; e++)
			reached |= cfg->blocks[e].idom == SASS_NONE && reaches(cfg, e, b, SASS_NONE);
		if (!reached ||
		    ((!b || !cfg->blocks[b].npred) && cfg->blocks[b].idom != SASS_NONE && !dominates(cfg, 0, b)))
			return false;
	}
	return cfg->blocks[0].idom == SASS_NONE;
}

static bool is_in_loop(const struct sass_cfg *cfg, uint32_t header, uint32_t b)
{
	for (uint32_t k = 0; k < cfg->blocks[header].npred; k++) {
		uint32_t latch = cfg->pred[cfg->blocks[header].pred + k];

		if (dominates(cfg, header, latch) && (b == header || reaches(cfg, b, latch, header)))
			return true;
	}
	return false;
}

static bool has_right_loops(const struct sass_cfg *cfg)
{
	for (uint32_t b = 0; b < cfg->nblocks; b++) {
		uint32_t depth = 0;

		for (uint32_t a = 0; a < cfg->nblocks; a++) {
			if (sass_cfg_dominates(cfg, a, b) != dominates(cfg, a, b))
				return false;
			depth += is_in_loop(cfg, a, b);
		}
		if (depth != cfg->blocks[b].depth || (depth > 0) != (cfg->blocks[b].loop != SASS_NONE) ||
		    (depth &&
		     (!is_in_loop(cfg, cfg->blocks[b].loop, b) || cfg->blocks[cfg->blocks[b].loop].depth != depth)))
			return false;
	}
	return has_right_entries(cfg);
}

/* -- liveness -- */

static bool is_live(const struct program *p, uint32_t i, unsigned reg)
{
	bool seen[MAX_INSNS] = { false };
	uint32_t work[MAX_INSNS * MAX_INSNS], n = 0;

	work[n++] = i;
	while (n) {
		uint32_t at = work[--n];

		if (seen[at])
			continue;
		seen[at] = true;
		if (p->insns[at].operand[2].reg == reg)
			return true;
		if (p->insns[at].operand[0].reg == reg && p->insns[at].guard == SASS_PT)
			continue;
		for (uint32_t to = 0; to < p->n; to++)
			if (p->edge[at][to])
				work[n++] = to;
	}
	return false;
}

static bool has_right_liveness(const struct program *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (unsigned reg = 0; reg < REGS; reg++)
			if (sass_set_has(&p->live.in[i], reg) != is_live(p, i, reg))
				return false;
	return true;
}

/* Dumps MOV R1, R0; a loop of @!P0 BRA to the EXIT, MOV R2, R1, and BRA to the first BRA; EXIT. */
static void dump(void)
{
	const struct sass_arch *arch = sass_arch_find(90);
	struct sass_insn insns[] = { sass_move(1, 0), sass_under(sass_bra(arch, 2 * SASS_INSN), 0), sass_move(2, 1),
				     sass_bra(arch, -3 * SASS_INSN), sass_exit_if(SASS_PT) };
	struct sass_liveness live;
	struct sass_cfg cfg;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to || sass_cfg_of_probe(&cfg, arch, insns, 5) < 0 ||
	    sass_liveness_find(&cfg, (struct sass_insns){ insns, sizeof(*insns) }, false, &live) < 0)
		abort();
	sass_cfg_dump(&cfg, to);
	sass_liveness_dump(&live, to);
	fclose(to);
	ok(!strcmp(text, "block 0: 0..0, idom -1, loop -1, depth 0, to 1\n"
			 "block 1: 1..1, idom 0, loop 1, depth 1, to 2 3\n"
			 "block 2: 2..3, idom 1, loop 1, depth 1, to 1\n"
			 "block 3: 4..4, idom 1, loop -1, depth 0, to\n"
			 "0: R0 P0\n1: R1 P0\n2: R1 P0\n3: R1 P0\n4:\n"),
	   "the dumps of a loop:\n%s", text);
	free(text);
	sass_liveness_finish(&live);
	sass_cfg_finish(&cfg);
}

int main(void)
{
	uint32_t edges = 0, loops = 0, live = 0, depth = 0, irreducible = 0;

	for (uint32_t i = 0; i < PROGRAMS; i++) {
		struct program p;

		make_program(&p);
		edges += has_right_edges(&p);
		loops += has_right_loops(&p.cfg);
		live += has_right_liveness(&p);
		irreducible += p.cfg.irreducible;
		for (uint32_t b = 0; b < p.cfg.nblocks; b++)
			depth = p.cfg.blocks[b].depth > depth ? p.cfg.blocks[b].depth : depth;
		finish_program(&p);
	}
	ok(edges == PROGRAMS, "blocks and edges: %u of %u programs", edges, PROGRAMS);
	ok(loops == PROGRAMS && depth > 2 && irreducible,
	   "dominators and loops up to depth %u: %u of %u programs, %u with an irreducible loop", depth, loops,
	   PROGRAMS, irreducible);
	ok(live == PROGRAMS, "live registers: %u of %u programs", live, PROGRAMS);
	dump();
	return done();
}
