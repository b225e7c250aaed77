/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a case on the interpreter: all threads one after the other, in the order of their numbers. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/interp/interp.h"
#include "direct.h"
#include "maps/layout.h"

/* Convert a linear index to coordinates in a grid of `size`. */
static void split(uint64_t linear, const uint32_t size[3], gpubpf_u64 out[3])
{
	for (int d = 0; d < 3; d++) {
		out[d] = linear % size[d];
		linear /= size[d];
	}
}

static void set_thread(struct gpubpf_ctx *ctx, const struct grid_launch *l, uint64_t block, uint64_t thread)
{
	split(block, l->grid, ctx->block_idx);
	split(thread, l->block, ctx->thread_idx);
	for (int d = 0; d < 3; d++)
		ctx->global_id[d] = ctx->block_idx[d] * l->block[d] + ctx->thread_idx[d];
	ctx->global_linear = (ctx->global_id[2] * l->grid[1] * l->block[1] + ctx->global_id[1]) * l->grid[0] * l->block[0] +
			     ctx->global_id[0];
}

/* Set the arguments of the kernel of direct runs (core/wire/direct.h). */
static void set_data(struct gpubpf_ctx *ctx, const struct grid_run *run)
{
	ctx->arg[0] = (uintptr_t)run->words - GPUBPF_DIRECT_DATA;
	ctx->arg[1] = 8ull * run->nwords;
	ctx->arg[2] = GPUBPF_DIRECT_KEY;
}

/* Run all programs of the case for one thread. `run` is the data of a direct run, or NULL. */
static int run_thread(struct grid *g, struct gpubpf_ctx *ctx, uint64_t pid_tgid, void *arena, struct grid_run *run,
		      struct gpubpf_diag *diag)
{
	const struct gpubpf_unit *unit = &g->loaded->unit;
	struct gpubpf_interp_result result = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && !result.ended_thread && i < unit->nprogs; i++) {
		struct gpubpf_interp_job job = { .unit = unit,
						 .prog = &unit->progs[i],
						 .ctx = ctx,
						 .arena = arena,
						 .layout = &g->layout,
						 .mem = run ? run->words : NULL,
						 .mem_size = run ? 8ull * run->nwords : 0,
						 .pid_tgid = pid_tgid };

		if (!unit->progs[i].pattern[0])
			continue;
		err = gpubpf_interp_run(&job, &result, diag);
	}
	if (run && !ctx->global_linear)
		run->result = (uint32_t)result.r0;
	return err;
}

static int run_launch(struct grid *g, const struct grid_launch *l, uint32_t nth, void *arena, struct grid_run *run,
		      struct gpubpf_diag *diag)
{
	struct gpubpf_ctx ctx = { .launch = GRID_LAUNCH + nth,
				  .kernel = GRID_KERNEL_ID,
				  .site = GPUBPF_SITE_ENTRY,
				  .work_dim = l->dim,
				  .kernel_name = GRID_KERNEL };
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	int err = 0;

	for (int d = 0; d < 3; d++) {
		ctx.grid_dim[d] = l->grid[d];
		ctx.block_dim[d] = l->block[d];
	}
	if (run)
		set_data(&ctx, run);
	for (uint64_t b = 0; !err && b < blocks; b++)
		for (uint64_t t = 0; !err && t < threads; t++) {
			set_thread(&ctx, l, b, t);
			err = run_thread(g, &ctx, grid_pid_tgid(nth), arena, run, diag);
		}
	return err;
}

static int run_case(const struct suite_run *run, const struct suite_device *host, uint32_t index,
		    struct suite_result *r, struct gpubpf_diag *diag)
{
	const struct suite_case *c = &run->suite.cases[index];
	struct grid_run data = { 0 }, *direct = grid_is_run(c) ? &data : NULL;
	struct grid_launch launch;
	void *arena = MAP_FAILED;
	struct grid g;
	int err = grid_load(&g, &run->suite, &index, 1, diag);

	grid_launch_of(c, &host->caps, &launch);
	if (!err)
		err = grid_layout(&g, 1, NULL, diag);
	if (!err && direct)
		err = grid_run_init(c, direct);
	if (!err) {
		arena = mmap(NULL, g.layout.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		err = arena == MAP_FAILED ? gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for maps") :
					    0;
	}
	if (!err) {
		gpubpf_arena_init(arena, &g.loaded->unit, &g.layout);
		for (uint32_t nth = 0; !err && nth < launch.times; nth++)
			err = run_launch(&g, &launch, nth, arena, direct, diag);
	}
	if (!err)
		grid_judge(&g, 0, &host->caps, arena, direct, r);
	grid_run_finish(&data);
	if (arena != MAP_FAILED)
		munmap(arena, g.layout.size);
	grid_finish(&g);
	return err;
}

void grid_run_host(const struct suite_run *run, const struct suite_device *host, uint32_t index, struct suite_result *r)
{
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (run_case(run, host, index, r, &diag) < 0)
		grid_refused(&run->suite.cases[index], &diag, r);
}
