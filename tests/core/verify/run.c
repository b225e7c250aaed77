/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

static uint64_t content(struct gen *g)
{
	uint64_t x = gen_random(g);

	switch (x & 7) {
	case 0: return 0;
	case 1: return x >> 8 & 63;
	case 2: return x >> 32;
	case 3: return (uint64_t)-(int64_t)(x >> 8 & 63);
	case 4: return x >> 8 & 0xffff;
	default: return x * 0x9e3779b97f4a7c15ull;
	}
}

static void set_random_value(struct run *r, struct gen *g, int map, const void *key)
{
	struct gpubpf_map_view view = { r->arena, &r->maps[map], &r->layout.maps[map] };
	uint64_t value[8];

	for (int i = 0; i < 8; i++)
		value[i] = content(g);
	gpubpf_map_update(&view, key, value, 0);
}

static void fill_maps(struct run *r, struct gen *g)
{
	memcpy(r->arena, r->pristine, r->layout.size);
	for (uint32_t k = 0; k < 16; k++)
		set_random_value(r, g, 1, &k);
	set_random_value(r, g, 2, &(uint32_t){ 0 });
	for (uint32_t pc = 0; pc < r->prog.ninsns; pc++)
		if (r->insns[pc].kind == GPUBPF_INSN_STORE && !r->insns[pc].reg && r->insns[pc].off == -8)
			set_random_value(r, g, 0, &(int64_t){ r->insns[pc].imm });
}

void run_once(struct run *r, struct gen *g, run_observer observe, void *arg)
{
	struct gpubpf_ctx ctx = {
		.work_dim = 1, .grid_dim = { 1, 1, 1 }, .block_dim = { 64, 1, 1 }, .thread_idx = { r->thread },
		.global_linear = r->thread,
	};
	struct gpubpf_interp_job job = {
		.unit = &r->unit, .prog = &r->prog, .ctx = &ctx, .arena = r->arena, .layout = &r->layout,
		.lane = r->thread % 32, .warp = r->thread / 32, .max_insns = 200000, .observe = observe, .observe_arg = arg,
	};
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	for (int i = 0; i < GPUBPF_CTX_ARGS; i++)
		ctx.arg[i] = content(g);
	fill_maps(r, g);
	if (gpubpf_interp_run(&job, &result, &diag) < 0 && !r->problem[0])
		snprintf(r->problem, sizeof(r->problem), "instruction %u: the interpreter stopped: %.400s", diag.pc,
			 diag.what);
}

bool run_setup(struct run *r)
{
	static const struct gpubpf_layout_opts opts = { .replicas = 1, .threads = 64 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	gen_maps(r->maps);
	r->prog = (struct gpubpf_prog){ .name = "fuzz", .insns = r->insns };
	r->unit = (struct gpubpf_unit){ .maps = r->maps, .nmaps = GEN_NMAPS, .progs = &r->prog, .nprogs = 1 };
	if (gpubpf_layout_compute(&r->unit, &opts, &r->layout, &diag) < 0)
		return false;
	r->arena = aligned_alloc(GPUBPF_ARENA_ALIGN, r->layout.size);
	r->pristine = aligned_alloc(GPUBPF_ARENA_ALIGN, r->layout.size);
	if (!r->arena || !r->pristine)
		return false;
	memset(r->arena, 0, r->layout.size);
	gpubpf_arena_init(r->arena, &r->unit, &r->layout);
	memcpy(r->pristine, r->arena, r->layout.size);
	return true;
}

void run_finish(struct run *r)
{
	gpubpf_facts_destroy(r->prog.facts);
	gpubpf_layout_finish(&r->layout);
	free(r->arena);
	free(r->pristine);
}
