/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/interp/interp.h"
#include "core/load/load.h"
#include "random.h"

#define PRINT_ROOM 16384 /* size of the print ring in bytes */
#define CALL 0x85
#define TAIL_CALL 12
#define PID_TGID 0x0000123400005678ull

uint32_t random_parts(const struct random_program *program)
{
	uint32_t n = 1;

	while (n < GEN_PARTS && program->begin[n])
		n++;
	return n;
}

bool random_has_tail_calls(const struct random_program *program)
{
	uint32_t end = random_parts(program) > 1 ? program->begin[1] : program->n;
	bool found = false;

	for (uint32_t i = 0; i < end; i++)
		found |= program->insns[i].code == CALL && program->insns[i].imm == TAIL_CALL &&
			 !(program->insns[i].regs >> 4);
	return found;
}

/* Decode and verify a program. After success the caller must finish the unit. */
static int prove(const struct random_program *p, struct gpubpf_map *maps, struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { 0 };
	int err = gpubpf_unit_raws(p->insns, p->n, p->begin, random_parts(p), maps, GEN_NMAPS, unit, diag);

	if (err < 0)
		return err;
	unit->progs->is_run = p->is_run;
	err = gpubpf_verify(unit, unit->progs, &opts, diag);
	if (err < 0)
		gpubpf_unit_finish(unit);
	return err;
}

bool random_is_proven(const struct random_program *program)
{
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_unit unit;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	gen_maps(maps);
	if (prove(program, maps, &unit, &diag) < 0)
		return false;
	gpubpf_unit_finish(&unit);
	return true;
}

void random_make(uint64_t seed, enum gen_kind kind, struct random_program *program)
{
	struct gen_rng rng = { seed };

	program->is_run = kind == GEN_DIRECT;
	do {
		program->n = gen_program(&rng, kind, program->insns, program->begin);
	} while (!random_is_proven(program));
	program->launch = gen_random(&rng);
}

static bool is_ring(uint32_t map)
{
	return map == GEN_RING || map == GEN_PERF || map == GEN_GPURING || map == GEN_SMALL;
}

/*
 * Make unused maps small, so that it is quick to clear and compare them. Replace an unused ring by an array, because
 * even the smallest ring is large.
 */
static void shrink_unused(struct random_group *g, const bool named[GEN_NMAPS])
{
	for (uint32_t m = 0; m < GEN_NMAPS; m++) {
		struct gpubpf_map small = g->maps[GEN_COUNTER];

		if (g->map_use[m] || named[m] || m == GEN_ARRAY || m == GEN_HASH || m == GEN_DATA ||
		    (m >= GEN_LONG_HASH && m <= GEN_LARGE_HASH))
			continue;
		memcpy(small.name, g->maps[m].name, sizeof(small.name));
		if (is_ring(m))
			g->maps[m] = small;
		g->maps[m].max_entries = 1;
		/* keep at most the first element, which has key 0 */
		g->maps[m].nelements = g->maps[m].nelements ? 1 : 0;
	}
}

/* If a map of maps is named, mark its inner maps and their prototype as named too. */
static void note_inner(const struct random_group *g, bool named[GEN_NMAPS])
{
	for (uint32_t m = GEN_OUTER_ARRAY; m <= GEN_OUTER_HASH; m++)
		for (uint32_t i = 0; named[m] && i < g->maps[m].nelements; i++)
			named[g->maps[m].elements[i].map] = named[g->maps[m].inner - 1] = true;
}

/*
 * Mark the maps that the program refers to. map_use does not suffice: it lacks maps whose size is queried but whose
 * elements are not used.
 */
static void note_named(const struct gpubpf_prog *prog, bool named[GEN_NMAPS])
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_IMM64 && prog->insns[pc].op == GPUBPF_IMM_MAP)
			named[prog->insns[pc].imm] = true;
}

int random_group_init(struct random_group *g, const struct random_program *const *programs, uint32_t n,
		      struct gpubpf_diag *diag)
{
	/* One replica, because the device decides which replica a lane uses. */
	struct gpubpf_layout_opts opts = { .replicas = 1, .ring_bytes = GEN_ROOM, .threads = 16, .map_use = g->map_use };
	bool named[GEN_NMAPS] = { false };
	int err = 0;

	memset(g, 0, sizeof(*g));
	gen_maps(g->maps);
	while (!err && g->n < n) {
		err = prove(programs[g->n], g->maps, &g->owners[g->n], diag);
		if (err < 0)
			break;
		/* the only program of this unit; it contains the instructions of all parts */
		g->progs[g->n] = *g->owners[g->n].progs;
		g->launch[g->n] = programs[g->n]->launch;
		if (g->progs[g->n].facts->prints)
			opts.print_bytes = PRINT_ROOM;
		note_named(&g->progs[g->n], named);
		for (uint32_t m = 0; m < GEN_NMAPS; m++)
			g->map_use[m] |= g->progs[g->n].facts->map_use[m];
		g->n++;
	}
	note_inner(g, named);
	shrink_unused(g, named);
	g->unit = (struct gpubpf_unit){ g->maps, GEN_NMAPS, g->progs, g->n };
	if (!err)
		err = gpubpf_layout_compute(&g->unit, &opts, &g->layout, diag);
	g->size = g->layout.size + GPUBPF_ARENA_ALIGN;
	return err;
}

void random_group_finish(struct random_group *g)
{
	while (g->n)
		gpubpf_unit_finish(&g->owners[--g->n]);
	gpubpf_layout_finish(&g->layout);
}

/*
 * Fill the maps with random values that depend only on the seed, so that interpreter and device start with equal
 * contents.
 */
static void fill_maps(struct random_group *g, void *arena, uint64_t seed)
{
	static const uint32_t maps[] = { GEN_ARRAY,       GEN_HASH,      GEN_DATA,      GEN_INNER_HASH,
					 GEN_INNER_ARRAY, GEN_LONG_HASH, GEN_ODD_ARRAY, GEN_LARGE_HASH };
	struct gen_rng rng = { seed };
	uint64_t value[GEN_MAX_VALUE_BYTES / 8];
	uint32_t key[GEN_MAX_KEY_BYTES / 4] = { 0 };

	for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
		struct gpubpf_map_view view = { arena, &g->maps[maps[m]], &g->layout.maps[maps[m]] };

		for (key[0] = 0; key[0] < 3; key[0]++) {
			for (size_t i = 0; i < GEN_MAX_VALUE_BYTES / 8; i++)
				value[i] = gen_random(&rng);
			gpubpf_map_update(&view, key, value, 0);
		}
	}
}

void random_reset(struct random_group *g, uint32_t i, void *arena)
{
	memset(arena, 0, g->size);
	gpubpf_arena_init(arena, &g->unit, &g->layout);
	fill_maps(g, arena, g->launch[i]);
}

void random_ctx(uint64_t launch, struct gpubpf_ctx *ctx)
{
	*ctx = (struct gpubpf_ctx){
		.launch = launch,
		.kernel = 7,
		.site = GPUBPF_SITE_ENTRY,
		.work_dim = 3,
		.grid_dim = { 1, 1, 1 },
		.block_dim = { 1, 1, 1 },
		.kernel_name = "random",
	};
}

int random_run_host(struct random_group *g, uint32_t i, void *arena, uint64_t *r0, struct gpubpf_diag *diag)
{
	struct gpubpf_ctx ctx;
	struct gpubpf_interp_job job = {
		.unit = &g->unit,
		.prog = &g->progs[i],
		.ctx = &ctx,
		.arena = arena,
		.layout = &g->layout,
		.pid_tgid = PID_TGID,
	};
	struct gpubpf_interp_result result;
	int err;

	random_ctx(g->launch[i], &ctx);
	err = gpubpf_interp_run(&job, &result, diag);
	if (!err)
		*r0 = result.r0;
	return err;
}
