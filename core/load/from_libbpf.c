/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to the unit what libbpf has loaded: types, then maps, then the programs that refer to them. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "core/model/diag.h"
#include "core/wire/match.h"
#include "core/load/typed/hist.h"

static int refuse_no_memory(struct gpubpf_loading *l, const char *what)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for the %s", what);
	return -ENOMEM;
}

static int add_btf(struct gpubpf_loading *l)
{
	const struct btf *btf = bpf_object__btf(l->obj);
	const void *data;
	uint32_t size;

	if (!btf)
		return 0;
	data = btf__raw_data(btf, &size);
	l->btf = data ? btf__new(data, size) : NULL;
	l->out->objects[l->index].btf = l->btf;
	return l->btf ? 0 : gpubpf_log_refuse(l->diag, "the object's BTF cannot be read", -errno);
}

static int read_content(const struct bpf_map *from, struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	void *content = malloc(map->value_size);

	if (content && pread(bpf_map__fd(from), content, map->value_size, 0) == (ssize_t)map->value_size) {
		map->init = content;
		return 0;
	}
	free(content);
	gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for %u bytes of data", map->value_size);
	return -ENOMEM;
}

/* Returns true if programs for a GPU can use a map of this definition. */
static bool is_for_gpu(const struct gpubpf_loading *l, const struct gpubpf_sys_map *def)
{
	const struct gpubpf_map_type *type = gpubpf_map_type_find(def->type), *inner;

	for (uint32_t i = 0; type && type->flags & GPUBPF_MAP_PROGS && i < def->nelements; i++)
		if (def->elements[i].map == GPUBPF_SYS_NONE)
			return false;
	if (!type || !(type->flags & GPUBPF_MAP_OF_MAPS))
		return type;
	inner = def->inner ? gpubpf_map_type_find(l->sys.maps[def->inner - 1].type) : NULL;
	return inner && gpubpf_map_may_be_inner(inner);
}

static int add_map(struct gpubpf_loading *l, const struct bpf_map *from, const struct gpubpf_types *types)
{
	const struct gpubpf_sys_map *def = gpubpf_sys_map(&l->sys, bpf_map__fd(from));
	struct gpubpf_unit *unit = &l->out->unit;
	struct gpubpf_diag *diag = l->diag;
	struct gpubpf_map map;
	int err;

	if (!def)
		return 0;
	if (l->mixed && !is_for_gpu(l, def)) {
		gpubpf_load_note(l->out, "map %s is left to the Linux kernel: GPUs do not support its type %u%s",
				 bpf_map__name(from), def->type,
				 gpubpf_map_type_find(def->type) ? " with such elements" : "");
		return 0;
	}
	err = gpubpf_map_define(def, bpf_map__name(from), bpf_map__is_internal(from), &map, diag);
	if (err < 0) {
		gpubpf_diag_where(diag, "%s: section '.maps', map '%s'", l->path, bpf_map__name(from));
		return err;
	}
	map.object = l->index;
	map.own_keys = gpubpf_var_tagged(l->btf, map.name, "gpubpf:own_keys");
	map.scratch = gpubpf_var_tagged(l->btf, map.name, "gpubpf:scratch");
	map.launch_times = gpubpf_var_tagged(l->btf, map.name, "gpubpf:launch_times");
	map.few = gpubpf_var_tagged(l->btf, map.name, "gpubpf:few");
	map.btf_key = map.btf_key || !map.key_size ? map.btf_key : types->key;
	map.btf_value = map.btf_value ? map.btf_value : types->value;
	if (map.global_data && (err = read_content(from, &map, diag)) < 0)
		return err;
	l->unit_map[def - l->sys.maps] = unit->nmaps;
	unit->maps[unit->nmaps++] = map;
	return 0;
}

static int refuse_map(struct gpubpf_loading *l, const struct gpubpf_map *outer, const char *what)
{
	gpubpf_diag_where(l->diag, "%s: section '.maps', map '%s'", l->path, outer->name);
	return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "%s", what);
}

/* Adds the prototype of the elements of a map of maps to the unit, as a map without memory. */
static int add_prototype(struct gpubpf_loading *l, uint32_t outer)
{
	struct gpubpf_unit *unit = &l->out->unit;
	const struct gpubpf_sys_map *def = &l->sys.maps[unit->maps[outer].inner - 1];
	struct gpubpf_map *prototype = &unit->maps[unit->nmaps];
	char name[sizeof(prototype->name)];
	int err;

	snprintf(name, sizeof(name), "%.50s.inner", unit->maps[outer].name);
	err = gpubpf_map_define(def, name, false, prototype, l->diag);
	if (err < 0) {
		gpubpf_diag_where(l->diag, "%s: section '.maps', map '%s'", l->path, name);
		return err;
	}
	if (!gpubpf_map_may_be_inner(prototype->type))
		return refuse_map(l, &unit->maps[outer], GPUBPF_NOT_INNER);
	prototype->object = l->index;
	prototype->prototype = true;
	unit->maps[outer].inner = ++unit->nmaps;
	return 0;
}

static int add_elements(struct gpubpf_loading *l, const struct gpubpf_sys_map *def, struct gpubpf_map *outer)
{
	const struct gpubpf_map *maps = l->out->unit.maps;

	outer->elements = def->nelements ? calloc(def->nelements, sizeof(*outer->elements)) : NULL;
	if (def->nelements && !outer->elements)
		return refuse_no_memory(l, "elements of a map");
	for (uint32_t i = 0; i < def->nelements; i++) {
		int32_t map = l->unit_map[def->elements[i].map];

		if (map < 0 || !gpubpf_map_is_like(&maps[map], &maps[outer->inner - 1]))
			return refuse_map(l, outer,
					  "an element differs from the inner map: its type, sizes, max_entries and flags must "
					  "be those of the inner map in the definition");
		if (outer->type->flags & GPUBPF_MAP_U32KEY ? def->elements[i].key >= outer->max_entries :
							     i >= outer->max_entries)
			return refuse_map(l, outer,
					  "an element is past its end: raise max_entries, or initialize fewer "
					  "elements");
		outer->elements[outer->nelements++] = (struct gpubpf_map_element){ def->elements[i].key, (uint32_t)map };
	}
	return 0;
}

static const struct bpf_program *find_program(const struct gpubpf_loading *l, uint32_t sys)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, l->obj) if (bpf_program__autoload(prog) && sys != GPUBPF_SYS_NONE &&
						       gpubpf_sys_prog(&l->sys, bpf_program__fd(prog)) ==
							       &l->sys.progs[sys]) return prog;
	return NULL;
}

/*
 * Lists the programs that a map of programs may hold: the programs in its definition, and all programs whose section
 * names no GPU kernel.
 */
static int add_targets(struct gpubpf_loading *l, const struct gpubpf_sys_map *def, struct gpubpf_map *map)
{
	struct bpf_program *prog;
	uint32_t number = 0;

	bpf_object__for_each_program(prog, l->obj)
	{
		const struct gpubpf_sys_prog *sys = gpubpf_sys_prog(&l->sys, bpf_program__fd(prog));
		struct gpubpf_map_target *grown;
		struct gpubpf_section section;
		bool named = false;

		if (!bpf_program__autoload(prog))
			continue;
		number++;
		for (uint32_t i = 0; i < def->nelements; i++)
			named |= sys && def->elements[i].map == sys - l->sys.progs;
		gpubpf_section_parse(bpf_program__section_name(prog), &section);
		if (!named && (section.pattern[0] || gpubpf_attach_of(l, prog)))
			continue;
		grown = reallocarray(map->targets, map->ntargets + 1, sizeof(*grown));
		if (!grown)
			return refuse_no_memory(l, "programs of a map");
		map->targets = grown;
		grown += map->ntargets++;
		*grown = (struct gpubpf_map_target){ .number = number, .named = named };
		snprintf(grown->name, sizeof(grown->name), "%s", bpf_program__name(prog));
	}
	return 0;
}

static int add_slots(struct gpubpf_loading *l, const struct gpubpf_sys_map *def, struct gpubpf_map *map)
{
	map->elements = calloc(def->nelements + 1, sizeof(*map->elements));
	if (!map->elements)
		return refuse_no_memory(l, "slots of a map");
	for (uint32_t i = 0; i < def->nelements; i++) {
		const struct bpf_program *prog = find_program(l, def->elements[i].map);

		if (!prog)
			return refuse_map(l, map,
					  "a slot holds a program that is not for a GPU: use a separate map for such "
					  "programs");
		if (def->elements[i].key >= map->max_entries)
			return refuse_map(l, map,
					  "a slot is past its end: raise max_entries, or initialize fewer "
					  "slots");
		for (uint32_t k = 0; k < map->ntargets; k++)
			if (!strcmp(map->targets[k].name, bpf_program__name(prog)))
				map->elements[map->nelements++] =
					(struct gpubpf_map_element){ def->elements[i].key, map->targets[k].number - 1 };
	}
	return 0;
}

static int add_maps_of_progs(struct gpubpf_loading *l)
{
	struct gpubpf_map *maps = l->out->unit.maps;
	int err = 0;

	for (uint32_t i = 0; i < l->sys.nmaps && !err; i++) {
		int32_t at = l->unit_map[i];

		if (at < 0 || !(maps[at].type->flags & GPUBPF_MAP_PROGS))
			continue;
		err = add_targets(l, &l->sys.maps[i], &maps[at]);
		if (!err)
			err = add_slots(l, &l->sys.maps[i], &maps[at]);
	}
	return err;
}

static int add_maps_of_maps(struct gpubpf_loading *l)
{
	struct gpubpf_map *maps = l->out->unit.maps;
	int err = 0;

	for (uint32_t i = 0; i < l->sys.nmaps && !err; i++) {
		int32_t at = l->unit_map[i];

		if (at < 0 || !(maps[at].type->flags & GPUBPF_MAP_OF_MAPS))
			continue;
		err = add_prototype(l, (uint32_t)at);
		if (!err)
			err = add_elements(l, &l->sys.maps[i], &maps[at]);
	}
	return err;
}

static int refuse_too_many(struct gpubpf_loading *l, const char *what, uint32_t n, uint32_t max)
{
	return gpubpf_diag_set(l->diag, what[0] == 'm' ? GPUBPF_E_BAD_MAP : GPUBPF_E_BAD_ELF, GPUBPF_NOPC,
			       "%u %s; all objects together may have up to %u", n, what, max);
}

static int add_maps(struct gpubpf_loading *l)
{
	struct gpubpf_unit *unit = &l->out->unit;
	struct bpf_map *map;
	uint32_t n = unit->nmaps, i = 0;
	void *maps;
	int err;

	bpf_object__for_each_map(map, l->obj) n += 1 + gpubpf_map_type_has(bpf_map__type(map), GPUBPF_MAP_OF_MAPS);
	if (n > GPUBPF_MAX_MAPS)
		return refuse_too_many(l, "maps", n, GPUBPF_MAX_MAPS);
	l->unit_map = malloc((l->sys.nmaps + 1) * sizeof(*l->unit_map));
	maps = reallocarray(unit->maps, n + 1, sizeof(*unit->maps));
	if (maps)
		unit->maps = maps;
	if (!maps || !l->unit_map)
		return refuse_no_memory(l, "maps");
	for (uint32_t left = 0; left < l->sys.nmaps; left++)
		l->unit_map[left] = GPUBPF_MAP_UNUSED;
	bpf_object__for_each_map(map, l->obj)
	{
		err = add_map(l, map, &l->types[i++]);
		if (err < 0)
			return err;
	}
	err = add_maps_of_maps(l);
	return err < 0 ? err : add_maps_of_progs(l);
}

/*
 * Chooses the clock of helper 502. Without a setting it is that of helper 5 in gpu/ sections, and the time since 1970 in
 * bpftime's sections. Programs on the host always read CLOCK_MONOTONIC.
 */
static int choose_clock(const struct gpubpf_loading *l, struct gpubpf_prog *prog)
{
	bool is_gpu = !strncmp(prog->section, "gpu/", strlen("gpu/"));

	return gpubpf_clock_choose(l, prog, prog->host ? "monotonic" : l->opts->clock, is_gpu);
}

/* Adds a program to the unit with the given pattern. A program with several --attach options is added once for each. */
static int add_program(struct gpubpf_loading *l, const struct bpf_program *from, const char *pattern)
{
	const struct gpubpf_sys_prog *sys = gpubpf_sys_prog(&l->sys, bpf_program__fd(from));
	struct gpubpf_unit *unit = &l->out->unit;
	struct gpubpf_section section;
	struct gpubpf_prog *prog;
	int err;

	if (unit->nprogs >= GPUBPF_MAX_PROGS)
		return refuse_too_many(l, "programs", unit->nprogs + 1, GPUBPF_MAX_PROGS);
	prog = reallocarray(unit->progs, unit->nprogs + 1, sizeof(*prog));
	if (!prog || !sys)
		return refuse_no_memory(l, "programs");
	unit->progs = prog;
	prog += unit->nprogs++;
	gpubpf_section_parse(bpf_program__section_name(from), &section);
	*prog = (struct gpubpf_prog){
		.site = section.site, .is_run = section.of == GPUBPF_SECTION_RUN, .host = section.host, .object = l->index
	};
	snprintf(prog->name, sizeof(prog->name), "%s", bpf_program__name(from));
	snprintf(prog->section, sizeof(prog->section), "%s", bpf_program__section_name(from));
	gpubpf_pattern_store(pattern ? pattern : section.pattern, prog->pattern);
	err = gpubpf_program_import(l, sys, prog);
	if (err < 0)
		gpubpf_diag_where(l->diag, "%s: section '%s', program '%s'", l->path, prog->section, prog->name);
	return err < 0 ? err : choose_clock(l, prog);
}

static int add_programs(struct gpubpf_loading *l)
{
	uint32_t first = l->out->unit.nprogs, number = 0, numbers[GPUBPF_MAX_PROGS];
	struct bpf_program *prog;
	int err = 0;

	bpf_object__for_each_program(prog, l->obj)
	{
		uint32_t have = l->out->unit.nprogs;

		if (!bpf_program__autoload(prog))
			continue;
		number++;
		if (!gpubpf_attach_of(l, prog))
			err = add_program(l, prog, NULL);
		for (uint32_t i = 0; i < l->opts->nattach && err >= 0; i++)
			if (!strcmp(l->opts->attach[i].prog, bpf_program__name(prog)))
				err = add_program(l, prog, l->opts->attach[i].pattern);
		if (err < 0)
			return err;
		for (; have < l->out->unit.nprogs; have++)
			numbers[have - first] = number;
	}
	return gpubpf_tails_link(l, first, numbers);
}

int gpubpf_object_import(struct gpubpf_loading *l)
{
	int err = add_btf(l);

	if (err >= 0)
		err = add_maps(l);
	return err < 0 ? err : add_programs(l);
}
