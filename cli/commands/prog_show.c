/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf prog show: lists the programs and maps of objects. */
#include "cli/cli.h"

#include <json-c/json.h>
#include <string.h>

#include "core/load/load.h"
#include "core/session/report/report.h"
#include "core/session/report/table.h"

/* Append a slot's number to the list of slots. If the list is full, append "..." once. */
static void add_slot(char *slots, size_t size, uint32_t key)
{
	size_t n = strlen(slots);

	if (n + sizeof(",4294967295,...") <= size)
		snprintf(slots + n, size - n, "%s%u", n ? "," : "", key);
	else if (slots[n - 1] != '.')
		snprintf(slots + n, size - n, ",...");
}

/* List the programs that are elements of maps of programs, with their initial slots. */
static void show_targets(const struct gpubpf_loaded *l)
{
	struct gpubpf_table table;
	bool any = false;

	gpubpf_table_init(&table, "IN MAP", "PROGRAM", "SLOTS", NULL);
	for (uint32_t i = 0; i < l->unit.nmaps; i++) {
		const struct gpubpf_map *m = &l->unit.maps[i];

		for (uint32_t k = 0; k < m->ntargets; k++) {
			char slots[64] = "";

			for (uint32_t e = 0; e < m->nelements; e++)
				if (m->elements[e].map + 1 == m->targets[k].number)
					add_slot(slots, sizeof(slots), m->elements[e].key);
			gpubpf_table_cell(&table, "%s", m->name);
			gpubpf_table_cell(&table, "%s", m->targets[k].name);
			gpubpf_table_cell(&table, "%s", slots);
			any = true;
		}
	}
	if (any)
		gpubpf_table_print(&table, stdout);
	gpubpf_table_finish(&table);
}

static void show_text(const struct gpubpf_loaded *l)
{
	struct gpubpf_table progs, maps;

	for (uint32_t i = 0; i < l->nobjects; i++)
		printf("%s\n  sha256 %s\n", l->objects[i].path, l->objects[i].sha256);
	gpubpf_table_init(&progs, "PROGRAM", "SECTION", "SITE", "KERNEL", "INSNS", NULL);
	for (uint32_t i = 0; i < l->unit.nprogs; i++) {
		const struct gpubpf_prog *p = &l->unit.progs[i];

		gpubpf_table_cell(&progs, "%s", p->name);
		gpubpf_table_cell(&progs, "%s", p->section);
		gpubpf_table_cell(&progs, "%s", gpubpf_place_kind(p->site)->name);
		gpubpf_table_cell(&progs, "%s", p->pattern);
		gpubpf_table_cell(&progs, "%u", p->ninsns);
	}
	gpubpf_table_init(&maps, "MAP", "TYPE", "KEY", "VALUE", "ENTRIES", NULL);
	for (uint32_t i = 0; i < l->unit.nmaps; i++) {
		const struct gpubpf_map *m = &l->unit.maps[i];

		if (m->prototype)
			continue;
		gpubpf_table_cell(&maps, "%s", m->name);
		gpubpf_table_cell(&maps, "%s", m->type->name);
		gpubpf_table_cell(&maps, "%u", m->key_size);
		gpubpf_table_cell(&maps, "%u", m->value_size);
		gpubpf_table_cell(&maps, "%u", m->max_entries);
	}
	gpubpf_table_print(&progs, stdout);
	if (l->unit.nmaps)
		gpubpf_table_print(&maps, stdout);
	show_targets(l);
	gpubpf_table_finish(&progs);
	gpubpf_table_finish(&maps);
}

static void add_str(struct json_object *o, const char *name, const char *v)
{
	json_object_object_add(o, name, json_object_new_string(v));
}

static void add_u64(struct json_object *o, const char *name, uint64_t v)
{
	json_object_object_add(o, name, json_object_new_uint64(v));
}

static struct json_object *make_prog_json(const struct gpubpf_prog *p)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "name", p->name);
	add_str(o, "section", p->section);
	add_str(o, "site", gpubpf_place_kind(p->site)->name);
	add_str(o, "kernel", p->pattern);
	add_u64(o, "insns", p->ninsns);
	add_u64(o, "object", p->object);
	return o;
}

/* Return as JSON the programs that are elements of a map of programs, with their initial slots. */
static struct json_object *make_targets_json(const struct gpubpf_map *m)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t k = 0; k < m->ntargets; k++) {
		struct json_object *o = json_object_new_object(), *slots = json_object_new_array();

		for (uint32_t e = 0; e < m->nelements; e++)
			if (m->elements[e].map + 1 == m->targets[k].number)
				json_object_array_add(slots, json_object_new_uint64(m->elements[e].key));
		add_str(o, "name", m->targets[k].name);
		json_object_object_add(o, "slots", slots);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *make_map_json(const struct gpubpf_map *m)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "name", m->name);
	add_str(o, "type", m->type->name);
	add_u64(o, "key_size", m->key_size);
	add_u64(o, "value_size", m->value_size);
	add_u64(o, "max_entries", m->max_entries);
	add_u64(o, "object", m->object);
	if (m->type->flags & GPUBPF_MAP_PROGS)
		json_object_object_add(o, "programs", make_targets_json(m));
	return o;
}

static void show_json(const struct gpubpf_loaded *l)
{
	struct json_object *root = json_object_new_object(), *objects = json_object_new_array();
	struct json_object *progs = json_object_new_array(), *maps = json_object_new_array();

	for (uint32_t i = 0; i < l->nobjects; i++) {
		struct json_object *o = json_object_new_object();

		add_str(o, "path", l->objects[i].path);
		add_str(o, "sha256", l->objects[i].sha256);
		json_object_array_add(objects, o);
	}
	for (uint32_t i = 0; i < l->unit.nprogs; i++)
		json_object_array_add(progs, make_prog_json(&l->unit.progs[i]));
	for (uint32_t i = 0; i < l->unit.nmaps; i++)
		if (!l->unit.maps[i].prototype)
			json_object_array_add(maps, make_map_json(&l->unit.maps[i]));
	json_object_object_add(root, "objects", objects);
	json_object_object_add(root, "programs", progs);
	json_object_object_add(root, "maps", maps);
	gpubpf_json_write(root, stdout);
}

int gpubpf_cmd_prog_show(const struct cli_args *args)
{
	struct gpubpf_loaded *loaded;
	int status = cli_load(args, &loaded);

	if (status != CLI_OK)
		return status;
	for (uint32_t i = 0; i < loaded->nnotes; i++)
		cli_note("%s", loaded->notes[i]);
	if (cli_has(args, OPT_JSON))
		show_json(loaded);
	else
		show_text(loaded);
	gpubpf_loaded_destroy(loaded);
	return CLI_OK;
}
