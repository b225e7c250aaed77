/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes jobs: the unit, the verifier's facts, the layouts of maps, the sites and their insertions. BPF programs that
 * no site uses are sent without instructions; they are not omitted, because that would change the indices of the other
 * programs. Source lines are not sent, because the tool adds them to diagnostics by the number of the instruction.
 */
#include <string.h>

#include "codec.h"
#include "core/model/insn.h"

#define MAX_MAPS 4096
#define MAX_PROGS 4096
#define MAX_SITES 4096
#define MAX_INSERTIONS (1u << 20)

struct job_codec {
	struct gpubpf_codec *c;
	const struct gpubpf_unit *unit;
	const struct gpubpf_prog *prog;
};

static bool map_index_ok(const struct job_codec *j, int map)
{
	return map >= GPUBPF_NO_MAP && map < (int)j->unit->nmaps;
}

static void codec_access(struct job_codec *j, struct gpubpf_access *a)
{
	struct gpubpf_codec *c = j->c;

	gpubpf_codec_u8(c, &a->spaces);
	if (!a->spaces)
		return;
	gpubpf_codec_u8(c, &a->align);
	gpubpf_codec_u8(c, &a->frame);
	gpubpf_codec_bool(c, &a->write);
	gpubpf_codec_s16(c, &a->map);
	gpubpf_codec_s32(c, &a->off_min);
	gpubpf_codec_s32(c, &a->off_max);
	gpubpf_codec_u32(c, &a->size_min);
	gpubpf_codec_u32(c, &a->size_max);
	gpubpf_codec_check(c, map_index_ok(j, a->map));
	gpubpf_codec_check(c, a->align == 1 || a->align == 2 || a->align == 4 || a->align == 8);
	gpubpf_codec_check(c, a->frame < GPUBPF_STACK_ROWS || a->frame == GPUBPF_ANY_FRAME);
}

static void codec_call_facts(struct job_codec *j, struct gpubpf_insn_facts *f)
{
	struct gpubpf_codec *c = j->c;
	struct gpubpf_call_facts *call = f->call;
	bool has = call != NULL;

	gpubpf_codec_bool(c, &has);
	if (!has)
		return;
	if (!c->w)
		f->call = call = gpubpf_pool_alloc(c->pool, 1, sizeof(*call));
	if (!call)
		return;
	for (int i = 0; i < 5; i++) {
		codec_access(j, &call->arg[i]);
		gpubpf_codec_u64(c, &call->konst[i]);
	}
	gpubpf_codec_s16(c, &call->map);
	gpubpf_codec_bool(c, &call->element);
	gpubpf_codec_u8(c, &call->konst_mask);
	codec_access(j, &call->key);
	gpubpf_codec_check(c, map_index_ok(j, call->map));
}

static void codec_insn_facts(struct job_codec *j, const struct gpubpf_insn *insn, struct gpubpf_insn_facts *f)
{
	struct gpubpf_codec *c = j->c;

	gpubpf_codec_u32(c, &f->flags);
	if (!(f->flags & GPUBPF_FACT_REACHED))
		return;
	gpubpf_codec_u32(c, &f->other);
	gpubpf_codec_u64(c, &f->value);
	gpubpf_codec_u32(c, &f->trips);
	codec_access(j, &f->mem);
	codec_call_facts(j, f);
	gpubpf_codec_check(c, f->other < j->prog->ninsns);
	gpubpf_codec_check(c, insn->kind != GPUBPF_INSN_CALL || f->call);
}

static void codec_facts(struct job_codec *j, struct gpubpf_facts **facts)
{
	struct gpubpf_codec *c = j->c;
	struct gpubpf_facts *f = *facts;
	bool has = f != NULL;
	uint32_t n = j->prog->ninsns, nmaps = j->unit->nmaps;

	gpubpf_codec_bool(c, &has);
	if (!has)
		return;
	if (!c->w) {
		*facts = f = gpubpf_pool_alloc(c->pool, 1, sizeof(*f));
		if (!f)
			return;
		f->insn = gpubpf_pool_alloc(c->pool, n, sizeof(*f->insn));
		f->map_use = gpubpf_pool_alloc(c->pool, nmaps, sizeof(*f->map_use));
		if (!f->insn || !f->map_use)
			return;
	}
	for (uint32_t i = 0; i < n; i++)
		codec_insn_facts(j, &j->prog->insns[i], &f->insn[i]);
	for (uint32_t i = 0; i < nmaps; i++)
		gpubpf_codec_u32(c, &f->map_use[i]);
	gpubpf_codec_u32(c, &f->frames);
	gpubpf_codec_u32(c, &f->keys);
	gpubpf_codec_u32(c, &f->stack);
	gpubpf_codec_u64(c, &f->ctx_args);
	gpubpf_codec_bool(c, &f->ctx_constants);
	gpubpf_codec_bool(c, &f->ctx_launch);
	gpubpf_codec_bool(c, &f->marks_launch);
	gpubpf_codec_bool(c, &f->ctx_kernel);
	gpubpf_codec_bool(c, &f->ends_thread);
	gpubpf_codec_bool(c, &f->prints);
	gpubpf_codec_bool(c, &f->clock);
	gpubpf_codec_bool(c, &f->pid);
	gpubpf_codec_bool(c, &f->allocations);
	gpubpf_codec_bool(c, &f->is_run);
	gpubpf_codec_check(c, f->frames <= GPUBPF_MAX_FRAMES && f->keys < GPUBPF_MAX_FRAMES);
}

static void codec_funcs(struct gpubpf_codec *c, struct gpubpf_prog *prog)
{
	struct gpubpf_func *f = gpubpf_codec_array(c, prog->funcs, &prog->nfuncs, sizeof(*f), 12);

	if (!c->w)
		prog->funcs = f;
	for (uint32_t i = 0; i < prog->nfuncs; i++, f++) {
		gpubpf_codec_u32(c, &f->first);
		gpubpf_codec_u32(c, &f->count);
		gpubpf_codec_str(c, f->name, sizeof(f->name));
		gpubpf_codec_check(c, f->first <= prog->ninsns && f->count <= prog->ninsns - f->first);
	}
}

/* Checks that each 64-bit immediate load consists of two instructions, and that no jump leads to the second one. */
static void check_jumps(struct gpubpf_codec *c, const struct gpubpf_prog *prog)
{
	const struct gpubpf_insn *insns = prog->insns;
	uint32_t n = prog->ninsns;

	for (uint32_t i = 0; i < n && !c->failed; i++) {
		bool wide = insns[i].kind == GPUBPF_INSN_IMM64;
		bool hi = insns[i].kind == GPUBPF_INSN_HI;

		gpubpf_codec_check(c, !wide || (i + 1 < n && insns[i + 1].kind == GPUBPF_INSN_HI));
		gpubpf_codec_check(c, !hi || (i && insns[i - 1].kind == GPUBPF_INSN_IMM64));
		gpubpf_codec_check(c, insns[insns[i].target].kind != GPUBPF_INSN_HI);
	}
}

static void codec_prog(struct gpubpf_codec *c, const struct gpubpf_unit *unit, struct gpubpf_prog *prog)
{
	struct job_codec j = { c, unit, prog };
	struct gpubpf_insn *insns;

	gpubpf_codec_str(c, prog->name, sizeof(prog->name));
	gpubpf_codec_str(c, prog->section, sizeof(prog->section));
	GPUBPF_CODEC_ENUM(c, prog->site, GPUBPF_NSITES);
	gpubpf_codec_s32(c, &prog->object);
	gpubpf_codec_u64(c, &prog->cookie);
	insns = gpubpf_codec_array(c, prog->insns, &prog->ninsns, sizeof(*insns), 26);
	if (!c->w)
		prog->insns = insns;
	gpubpf_codec_check(c, prog->ninsns <= GPUBPF_MAX_INSNS);
	for (uint32_t i = 0; i < prog->ninsns && !c->failed; i++)
		gpubpf_codec_insn(j.c, &insns[i], j.prog->ninsns, j.unit->nmaps);
	if (c->failed)
		return;
	if (!c->w)
		check_jumps(c, prog);
	codec_funcs(c, prog);
	codec_facts(&j, &prog->facts);
}

static void codec_map(struct gpubpf_codec *c, struct gpubpf_map *map)
{
	uint32_t type = c->w ? map->type->number : 0;
	size_t size = map->init ? map->value_size : 0;
	const void *init = map->init;

	gpubpf_codec_str(c, map->name, sizeof(map->name));
	gpubpf_codec_u32(c, &type);
	gpubpf_codec_u32(c, &map->key_size);
	gpubpf_codec_u32(c, &map->value_size);
	gpubpf_codec_u32(c, &map->max_entries);
	gpubpf_codec_u32(c, &map->map_flags);
	gpubpf_codec_bool(c, &map->rdonly);
	gpubpf_codec_bool(c, &map->global_data);
	gpubpf_codec_bool(c, &map->prototype);
	gpubpf_codec_s32(c, &map->object);
	gpubpf_codec_bytes(c, &init, &size);
	if (c->w)
		return;
	map->type = gpubpf_map_type_find(type);
	map->init = size ? init : NULL;
	gpubpf_codec_check(c, map->type && (!size || size == map->value_size));
}

static void codec_layout(struct gpubpf_codec *c, struct gpubpf_map_layout *l)
{
	gpubpf_codec_u32(c, &l->type);
	gpubpf_codec_u32(c, &l->flags);
	gpubpf_codec_u32(c, &l->key_size);
	gpubpf_codec_u32(c, &l->value_size);
	gpubpf_codec_u32(c, &l->max_entries);
	gpubpf_codec_u32(c, &l->copies);
	gpubpf_codec_u64(c, &l->ctl);
	gpubpf_codec_u64(c, &l->data);
	gpubpf_codec_u64(c, &l->stride);
	gpubpf_codec_u64(c, &l->copy_stride);
	gpubpf_codec_u64(c, &l->size);
}

/* Returns a copy of the program. If no site uses the program, the copy has no instructions, functions and facts. */
static struct gpubpf_prog trim_prog(const struct gpubpf_prog *prog, bool is_used)
{
	struct gpubpf_prog copy = *prog;

	if (!is_used) {
		copy.ninsns = copy.nfuncs = 0;
		copy.cookie = 0;
		copy.facts = NULL;
	}
	return copy;
}

static bool is_named(const struct gpubpf_lower_job *job, uint32_t prog)
{
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t k = 0; k < job->sites[i].nprogs; k++)
			if (job->sites[i].progs[k] == prog)
				return true;
	return false;
}

static void codec_unit(struct gpubpf_codec *c, const struct gpubpf_lower_job *job, struct gpubpf_unit *unit)
{
	struct gpubpf_map *maps = gpubpf_codec_array(c, unit->maps, &unit->nmaps, sizeof(*maps), 32);
	struct gpubpf_prog *progs;

	unit->maps = maps;
	gpubpf_codec_check(c, unit->nmaps <= MAX_MAPS);
	for (uint32_t i = 0; i < unit->nmaps && !c->failed; i++)
		codec_map(c, &maps[i]);
	progs = gpubpf_codec_array(c, unit->progs, &unit->nprogs, sizeof(*progs), 24);
	unit->progs = progs;
	gpubpf_codec_check(c, unit->nprogs <= MAX_PROGS);
	for (uint32_t i = 0; i < unit->nprogs && !c->failed; i++) {
		struct gpubpf_prog copy;

		if (c->w)
			copy = trim_prog(&progs[i], is_named(job, i));
		codec_prog(c, unit, c->w ? &copy : &progs[i]);
	}
}

static void codec_site(struct gpubpf_codec *c, const struct gpubpf_unit *unit, struct gpubpf_site_desc *site)
{
	uint32_t *progs;

	GPUBPF_CODEC_ENUM(c, site->site, GPUBPF_NSITES);
	gpubpf_codec_str(c, site->kernel, sizeof(site->kernel));
	gpubpf_codec_str(c, site->function, sizeof(site->function));
	gpubpf_codec_u64(c, &site->kernel_id);
	gpubpf_codec_params(c, (struct gpubpf_param **)&site->params, &site->nparams);
	gpubpf_codec_bool(c, &site->may_end_thread);
	progs = gpubpf_codec_array(c, site->progs, &site->nprogs, sizeof(*progs), 4);
	if (!c->w)
		site->progs = progs;
	for (uint32_t i = 0; i < site->nprogs; i++) {
		gpubpf_codec_u32(c, &progs[i]);
		gpubpf_codec_check(c, progs[i] < unit->nprogs && (c->w || unit->progs[progs[i]].ninsns));
	}
}

static void codec_insertions(struct gpubpf_codec *c, struct gpubpf_lower_job *job)
{
	struct gpubpf_insertion *list = gpubpf_codec_array(c, job->insertions, &job->ninsertions, sizeof(*list), 16);

	if (!c->w)
		job->insertions = list;
	gpubpf_codec_check(c, job->ninsertions <= MAX_INSERTIONS);
	for (uint32_t i = 0; i < job->ninsertions && !c->failed; i++) {
		GPUBPF_CODEC_ENUM(c, list[i].place.kind, GPUBPF_NSITES);
		gpubpf_codec_text(c, &list[i].place.function);
		gpubpf_codec_u32(c, &list[i].place.id);
		gpubpf_codec_u32(c, &list[i].site);
		gpubpf_codec_check(c, list[i].site < job->nsites && job->sites[list[i].site].site == list[i].place.kind);
	}
}

static void codec_layouts(struct gpubpf_codec *c, struct gpubpf_lower_job *job)
{
	struct gpubpf_map_layout *layouts = (void *)job->layouts;
	bool has = layouts != NULL;

	gpubpf_codec_bool(c, &has);
	if (!has) {
		gpubpf_codec_check(c, job->unit->nmaps == 0);
		return;
	}
	if (!c->w)
		job->layouts = layouts = gpubpf_pool_alloc(c->pool, job->unit->nmaps, sizeof(*layouts));
	for (uint32_t i = 0; layouts && i < job->unit->nmaps; i++)
		codec_layout(c, &layouts[i]);
}

static void codec_job_caps(struct gpubpf_codec *c, struct gpubpf_lower_job *job)
{
	struct gpubpf_device_caps *caps = (void *)job->caps;

	if (!c->w)
		job->caps = caps = gpubpf_pool_alloc(c->pool, 1, sizeof(*caps));
	gpubpf_codec_check(c, caps != NULL);
	if (caps)
		gpubpf_codec_caps(c, caps);
}

void gpubpf_codec_job(struct gpubpf_codec *c, struct gpubpf_lower_job *job)
{
	struct gpubpf_unit scratch = { 0 }, *unit = &scratch;
	struct gpubpf_site_desc *sites;

	if (c->w)
		scratch = *job->unit;
	else
		job->unit = unit = gpubpf_pool_alloc(c->pool, 1, sizeof(*unit));
	codec_job_caps(c, job);
	if (!unit || c->failed) {
		c->failed = true;
		return;
	}
	codec_unit(c, job, unit);
	codec_layouts(c, job);
	gpubpf_codec_u64(c, &job->layout_hash);
	gpubpf_codec_u64(c, &job->granules);
	gpubpf_codec_u64(c, &job->print_ring);
	codec_layout(c, &job->print_layout);
	gpubpf_codec_u32(c, &job->registers);
	gpubpf_codec_u64(c, &job->run_off);
	gpubpf_codec_bool(c, &job->run_in_maps);
	gpubpf_codec_check(c, !job->run_in_maps || (job->layouts && unit->nprogs <= unit->nmaps));
	gpubpf_codec_bool(c, &job->plain_mem);
	gpubpf_codec_bool(c, &job->checked);
	if (c->failed)
		return;
	sites = gpubpf_codec_array(c, job->sites, &job->nsites, sizeof(*sites), 28);
	if (!c->w)
		job->sites = sites;
	gpubpf_codec_check(c, job->nsites <= MAX_SITES);
	for (uint32_t i = 0; i < job->nsites && !c->failed; i++)
		codec_site(c, unit, &sites[i]);
	if (!c->failed)
		codec_insertions(c, job);
}
