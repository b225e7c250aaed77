/* SPDX-License-Identifier: Apache-2.0 */
/* What libbpf has loaded, added to the unit: types, then maps, then programs that refer to them. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "core/diag.h"
#include "core/wire/match.h"
#include "hist.h"

static int no_memory(struct gpubpf_loading *l, const char *what)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for the %s", what);
	return -ENOMEM;
}

static int take_btf(struct gpubpf_loading *l)
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

static int take_map(struct gpubpf_loading *l, const struct bpf_map *from, uint32_t value_type)
{
	const struct gpubpf_sys_map *def = gpubpf_sys_map(&l->sys, bpf_map__fd(from));
	struct gpubpf_unit *unit = &l->out->unit;
	struct gpubpf_diag *diag = l->diag;
	struct gpubpf_map map;
	int err;

	if (!def)
		return 0;
	if (l->mixed && !gpubpf_map_type_find(def->type)) {
		gpubpf_load_note(l->out, "map %s is of type %u, which no GPU has: it is left to the Linux kernel",
				 bpf_map__name(from), def->type);
		return 0;
	}
	err = gpubpf_map_define(def, bpf_map__name(from), bpf_map__is_internal(from), &map, diag);
	if (err < 0) {
		gpubpf_diag_where(diag, "%s: section '.maps', map '%s'", l->path, bpf_map__name(from));
		return err;
	}
	map.object = l->index;
	map.scratch = gpubpf_var_tagged(l->btf, map.name, "gpubpf:scratch");
	map.few = gpubpf_var_tagged(l->btf, map.name, "gpubpf:few");
	map.btf_value = map.btf_value ? map.btf_value : value_type;
	if (map.global_data && (err = read_content(from, &map, diag)) < 0)
		return err;
	l->unit_map[def - l->sys.maps] = unit->nmaps;
	unit->maps[unit->nmaps++] = map;
	return 0;
}

static int too_many(struct gpubpf_loading *l, const char *what, uint32_t n, uint32_t most)
{
	return gpubpf_diag_set(l->diag, what[0] == 'm' ? GPUBPF_E_BAD_MAP : GPUBPF_E_BAD_ELF, GPUBPF_NOPC,
			       "%u %s; all objects together may have up to %u", n, what, most);
}

static int take_maps(struct gpubpf_loading *l)
{
	struct gpubpf_unit *unit = &l->out->unit;
	struct bpf_map *map;
	uint32_t n = unit->nmaps, i = 0;
	void *maps;
	int err;

	bpf_object__for_each_map(map, l->obj)
		n++;
	if (n > GPUBPF_MAX_MAPS)
		return too_many(l, "maps", n, GPUBPF_MAX_MAPS);
	l->unit_map = malloc((l->sys.nmaps + 1) * sizeof(*l->unit_map));
	maps = reallocarray(unit->maps, n + 1, sizeof(*unit->maps));
	if (maps)
		unit->maps = maps;
	if (!maps || !l->unit_map)
		return no_memory(l, "maps");
	for (uint32_t left = 0; left < l->sys.nmaps; left++)
		l->unit_map[left] = GPUBPF_MAP_LEFT;
	bpf_object__for_each_map(map, l->obj) {
		err = take_map(l, map, l->value_type[i++]);
		if (err < 0)
			return err;
	}
	return 0;
}

/* One program at one pattern: several --attach of a program make several of it. */
static int take_program(struct gpubpf_loading *l, const struct bpf_program *from, const char *pattern)
{
	const struct gpubpf_sys_prog *sys = gpubpf_sys_prog(&l->sys, bpf_program__fd(from));
	struct gpubpf_unit *unit = &l->out->unit;
	struct gpubpf_section section;
	struct gpubpf_prog *prog;
	int err;

	if (unit->nprogs >= GPUBPF_MAX_PROGS)
		return too_many(l, "programs", unit->nprogs + 1, GPUBPF_MAX_PROGS);
	prog = reallocarray(unit->progs, unit->nprogs + 1, sizeof(*prog));
	if (!prog || !sys)
		return no_memory(l, "programs");
	unit->progs = prog;
	prog += unit->nprogs++;
	gpubpf_section_parse(bpf_program__section_name(from), &section);
	*prog = (struct gpubpf_prog){ .site = section.site, .object = l->index };
	snprintf(prog->name, sizeof(prog->name), "%s", bpf_program__name(from));
	snprintf(prog->section, sizeof(prog->section), "%s", bpf_program__section_name(from));
	gpubpf_pattern_keep(pattern ? pattern : section.pattern, prog->pattern);
	err = gpubpf_program_take(l, sys, prog);
	if (err < 0)
		gpubpf_diag_where(l->diag, "%s: section '%s', program '%s'", l->path, prog->section, prog->name);
	return err;
}

static int take_programs(struct gpubpf_loading *l)
{
	struct bpf_program *prog;
	int err = 0;

	bpf_object__for_each_program(prog, l->obj) {
		if (!bpf_program__autoload(prog))
			continue;
		if (!gpubpf_attach_of(l, prog))
			err = take_program(l, prog, NULL);
		for (uint32_t i = 0; i < l->opts->nattach && err >= 0; i++)
			if (!strcmp(l->opts->attach[i].prog, bpf_program__name(prog)))
				err = take_program(l, prog, l->opts->attach[i].pattern);
		if (err < 0)
			return err;
	}
	return 0;
}

int gpubpf_object_take(struct gpubpf_loading *l)
{
	int err = take_btf(l);

	if (err >= 0)
		err = take_maps(l);
	return err < 0 ? err : take_programs(l);
}
