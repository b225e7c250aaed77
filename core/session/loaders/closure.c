/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds one BPF object from a loader's program and all programs and maps that the program can reach. It adds the
 * programs in the program arrays that the program uses, and repeats this for the added programs. All their maps form
 * one list (struct sys_closure). For each map of maps, the list also has one prototype map that describes the elements.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- collecting maps and programs -- */

static int add_map(struct sys_closure *g, struct sys_object *map, bool prototype)
{
	for (uint32_t i = 0; i < g->nmaps; i++)
		if (g->maps[i].map == map && g->maps[i].prototype == prototype)
			return 0;
	if (g->nmaps == GPUBPF_MAX_MAPS)
		return -E2BIG;
	g->maps[g->nmaps++] = (struct sys_closure_map){ map, prototype };
	return 0;
}

static int add_prog(struct sys_closure *g, struct sys_object *prog)
{
	for (uint32_t i = 0; i < g->nprogs; i++)
		if (g->progs[i] == prog)
			return 0;
	if (g->nprogs == GPUBPF_BPF_MAX_CHAIN)
		return -E2BIG;
	g->progs[g->nprogs++] = prog;
	return 0;
}

/*
 * Add the map to the list. For a map of maps, also add the prototype of its elements and the elements themselves. For a
 * program array, also add its programs.
 */
static int add_map_deps(const struct gpubpf_session *s, struct sys_closure *g, struct sys_object *map)
{
	const struct sys_slots *slots = map->map.slots;
	bool of_maps = map->map.def.inner;
	int err = add_map(g, map, false);

	if (!err && of_maps)
		err = add_map(g, map, true);
	for (uint32_t i = 0; of_maps && i < slots->n && !err; i++)
		err = add_map(g, sys_object_find(s, slots->ids[i]), false);
	for (uint32_t i = 0; slots && i < slots->ntargets && !err; i++)
		err = add_prog(g, sys_object_find(s, slots->targets[i]));
	return err;
}

static int collect_deps(const struct gpubpf_session *s, struct sys_closure *g, struct sys_object *prog)
{
	int err = add_prog(g, prog);

	for (uint32_t i = 0; i < g->nprogs && !err; i++)
		for (uint32_t m = 0; m < g->progs[i]->prog.nmaps && !err; m++)
			err = add_map_deps(s, g, sys_object_find(s, g->progs[i]->prog.maps[m]));
	return err;
}

/* Returns the map's index in g->maps, or g->nmaps if the map is not in the list. */
static uint32_t map_index(const struct sys_closure *g, const struct sys_object *map, bool prototype)
{
	uint32_t i = 0;

	while (i < g->nmaps && (g->maps[i].map != map || g->maps[i].prototype != prototype))
		i++;
	return i;
}

bool sys_closure_names_map(const struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *map)
{
	struct sys_closure *g = calloc(1, sizeof(*g));
	bool names = g && !collect_deps(s, g, prog) && map_index(g, map, false) < g->nmaps;

	free(g);
	return names;
}

/* -- building the object -- */

/*
 * Assign the program a number for program arrays, unless it has one. The number is the smallest that no other program
 * has.
 */
static int assign_number(const struct gpubpf_session *s, struct sys_object *prog)
{
	for (uint32_t number = 1; !prog->prog.number && number <= GPUBPF_BPF_MAX_CHAIN; number++) {
		bool used = false;

		for (uint32_t i = 0; i < s->loaders->n && !used; i++)
			used = s->loaders->objects[i]->kind == GPUBPF_BPF_PROG &&
			       s->loaders->objects[i]->prog.number == number;
		if (!used)
			prog->prog.number = number;
	}
	return prog->prog.number ? 0 : -ENOSPC;
}

/*
 * Make a unique name from the program's name and number. The name alone is not unique, because programs may have the
 * same name and bpf(2) truncates names.
 */
static void name_target(const struct sys_object *prog, char name[64])
{
	snprintf(name, 64, "%.48s.%u", prog->prog.name, prog->prog.number);
}

int sys_closure_targets(const struct gpubpf_session *s, const struct sys_object *map, struct gpubpf_map_target **targets)
{
	const struct sys_slots *slots = map->map.slots;
	struct gpubpf_map_target *made = calloc(slots->ntargets + 1, sizeof(*made));
	int err = made ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < slots->ntargets && !err; i++) {
		struct sys_object *prog = sys_object_find(s, slots->targets[i]);

		err = assign_number(s, prog);
		made[i] = (struct gpubpf_map_target){ .number = prog->prog.number, .named = true };
		name_target(prog, made[i].name);
	}
	if (err < 0)
		free(made);
	else
		*targets = made;
	return err;
}

static int define_prototype(const struct sys_object *outer, struct gpubpf_map *def)
{
	*def = outer->map.inner;
	def->prototype = true;
	def->btf_key = def->btf_value = 0; /* the BTF types are in another object */
	snprintf(def->name, sizeof(def->name), "%.50s.inner", outer->map.def.name);
	return 0;
}

static int define_map(const struct gpubpf_session *s, const struct sys_closure *g, uint32_t i, uint32_t btf,
		      struct gpubpf_map *def)
{
	const struct sys_object *map = g->maps[i].map;
	int err = g->maps[i].prototype ? define_prototype(map, def) : sys_map_make_def(s, map, def);

	if (err < 0 || g->maps[i].prototype)
		return err;
	if (map->btf != btf)
		def->btf_key = def->btf_value = 0; /* the BTF types are in another BTF object */
	if (def->inner)
		def->inner = map_index(g, map, true) + 1;
	else if (map->map.slots && !(err = sys_closure_targets(s, map, &def->targets)))
		def->ntargets = map->map.slots->ntargets;
	return err;
}

static void free_maps(struct gpubpf_map *maps, uint32_t n)
{
	for (uint32_t i = 0; maps && i < n; i++) {
		free((void *)maps[i].init);
		free(maps[i].targets);
	}
}

static const struct sys_object *find_map(const struct sys_closure *g, uint32_t id)
{
	for (uint32_t i = 0; i < g->nmaps; i++)
		if (g->maps[i].map->id == id)
			return g->maps[i].map;
	return NULL;
}

/* Copy a program, and replace indexes into its maps[] by indexes into g->maps. */
static int copy_program(const struct sys_closure *g, const struct sys_object *o, uint32_t btf, struct gpubpf_sys_prog *copy)
{
	const struct gpubpf_sys_prog *raw = &o->prog.raw;

	*copy = *raw;
	if (o->btf != btf)
		copy->nfuncs = copy->nlines = 0;
	copy->insns = malloc((raw->ninsns + 1) * sizeof(*raw->insns));
	if (!copy->insns)
		return -ENOMEM;
	memcpy(copy->insns, raw->insns, raw->ninsns * sizeof(*raw->insns));
	for (uint32_t i = 0; i < raw->ninsns; i++) {
		struct bpf_insn *insn = &copy->insns[i];
		bool wide = insn->code == (BPF_LD | BPF_IMM | BPF_DW);

		if (wide && (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE))
			insn->imm = (int32_t)map_index(g, find_map(g, o->prog.maps[insn->imm]), false);
		i += wide;
	}
	return 0;
}

static int copy_programs(const struct gpubpf_session *s, const struct sys_closure *g, struct gpubpf_sys_prog *copies,
			 struct gpubpf_load_passed_prog *progs)
{
	int err = 0;

	for (uint32_t i = 0; i < g->nprogs && !err; i++) {
		err = assign_number(s, g->progs[i]);
		if (!err)
			err = copy_program(g, g->progs[i], g->progs[0]->btf, &copies[i]);
		progs[i] = (struct gpubpf_load_passed_prog){ .number = g->progs[i]->prog.number, .prog = &copies[i] };
		name_target(g->progs[i], progs[i].name);
	}
	snprintf(progs[0].name, sizeof(progs[0].name), "%s", g->progs[0]->prog.name);
	return err;
}

static int load_collected(const struct gpubpf_session *s, const struct sys_closure *g, struct gpubpf_load_passed *given,
			  struct gpubpf_loaded **loaded, struct gpubpf_diag *diag)
{
	const struct sys_object *btf = g->nprogs && g->progs[0]->btf ? sys_object_find(s, g->progs[0]->btf) : NULL;
	struct gpubpf_map *maps = calloc(g->nmaps + 1, sizeof(*maps));
	int err = maps ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < g->nmaps && !err; i++)
		err = define_map(s, g, i, btf ? btf->id : 0, &maps[i]);
	given->from = "a loader";
	given->maps = maps;
	given->nmaps = g->nmaps;
	given->btf = btf ? btf->btf_data.data : NULL;
	given->btf_size = btf ? btf->btf_data.size : 0;
	if (!err)
		err = gpubpf_load_passed(given, loaded, diag);
	else
		free_maps(maps, g->nmaps);
	free(maps);
	return err;
}

int sys_closure_program(const struct gpubpf_session *s, struct sys_object *prog, enum gpubpf_site site,
			const char *pattern, struct sys_closure *g, struct gpubpf_loaded **loaded,
			struct gpubpf_diag *diag)
{
	struct gpubpf_load_passed given = { .pattern = pattern, .site = site, .clock = s->opts.clock };
	struct gpubpf_load_passed_prog *progs = calloc(GPUBPF_BPF_MAX_CHAIN, sizeof(*progs));
	struct gpubpf_sys_prog *copies = calloc(GPUBPF_BPF_MAX_CHAIN, sizeof(*copies));
	int err = progs && copies ? collect_deps(s, g, prog) : -ENOMEM;

	if (!err)
		err = copy_programs(s, g, copies, progs);
	given.progs = progs;
	given.nprogs = g->nprogs;
	if (!err)
		err = load_collected(s, g, &given, loaded, diag);
	for (uint32_t i = 0; copies && i < g->nprogs; i++)
		free(copies[i].insns);
	free(copies);
	free(progs);
	return err;
}

int sys_closure_map(const struct gpubpf_session *s, struct sys_object *map, struct sys_closure *g,
		    struct gpubpf_loaded **loaded, struct gpubpf_diag *diag)
{
	struct gpubpf_load_passed given = { 0 };
	int err = add_map(g, map, false);

	return err ? err : load_collected(s, g, &given, loaded, diag);
}
