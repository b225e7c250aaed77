/* SPDX-License-Identifier: Apache-2.0 */
/* Values of maps without keys, for other tools: put in, taken out, looked at. */
#include "entries.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const struct {
	const char *verb;
	enum gpubpf_op op;
	bool changes;
} queries[] = {
	[GPUBPF_QUERY_PEEK] = { "peek", GPUBPF_OP_PEEK, false },
	[GPUBPF_QUERY_PUSH] = { "push", GPUBPF_OP_PUSH, true },
	[GPUBPF_QUERY_POP] = { "pop", GPUBPF_OP_POP, true },
};

/* Is what programs work on in memory that only devices have? */
static bool elsewhere(const struct gpubpf_session *s)
{
	bool used = false;

	for (uint32_t i = 1; i < s->narenas; i++)
		used |= s->arenas[i].used;
	return used && !s->arenas[0].used;
}

static int find(struct gpubpf_session *s, uint32_t what, const char *name, struct gpubpf_map **map)
{
	*map = gpubpf_session__find_map_by_name(s, name);
	if (!*map)
		return gpubpf_session_fail(s, -ENOENT, "there is no map %s in the session; gpubpf map show lists them",
					   name);
	if (!((*map)->type->ops & GPUBPF_OP_BIT(queries[what].op)))
		return gpubpf_session_fail(s, -EINVAL, "map %s, of type %s, cannot %s; gpubpf map dump prints it", name,
					   (*map)->type->name, queries[what].verb);
	if (queries[what].changes && elsewhere(s))
		return gpubpf_session_fail(s, -EOPNOTSUPP, "map %s is in a device's own memory, where only its programs "
					   "%s; peek and dump show it", name, queries[what].verb);
	return 0;
}

static int told(struct gpubpf_session *s, const struct gpubpf_map *map, const char *verb, int err)
{
	static const struct {
		int err;
		const char *why;
	} whys[] = {
		{ -ENOENT, "is empty" }, { -E2BIG, "is full" }, { -EPERM, "can only be read" },
		{ -EBUSY, "is busy: what others began did not end; try again" },
	};

	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++)
		if (err == whys[i].err)
			return gpubpf_session_fail(s, err, "map %s %s", map->name, whys[i].why);
	return err ? gpubpf_session_fail(s, err, "map %s: %s: %s", map->name, verb, strerror(-err)) : 0;
}

static void write_value(struct gpubpf_session *s, const struct gpubpf_map *map, const void *value, uint32_t flags,
			FILE *out)
{
	const struct gpubpf_report_opts opts = {
		.json = flags & GPUBPF_QUERY_JSON, .demangle = flags & GPUBPF_QUERY_DEMANGLE,
		.json_strings = flags & GPUBPF_QUERY_JSON_STRINGS,
	};
	struct gpubpf_typed_names names = gpubpf_session_names(s, &opts);
	const struct btf *btf = gpubpf_map_btf(s, (uint32_t)(map - s->loaded->unit.maps));
	size_t room = 64 + 8 * (size_t)map->value_size;
	struct json_object *o;
	char *text;

	if (opts.json) {
		o = json_object_new_object();
		json_object_object_add(o, "value", gpubpf_typed_json(btf, map->btf_value, &names, value, map->value_size));
		gpubpf_json_write(o, out);
		return;
	}
	text = malloc(room);
	if (text && gpubpf_typed_text(btf, map->btf_value, &names, value, map->value_size, text, room) >= 0)
		fprintf(out, "value: %s\n", text);
	else
		fprintf(out, "value: (%u bytes)\n", map->value_size);
	free(text);
}

static int take(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t what, uint32_t flags, FILE *out)
{
	void *value = malloc(map->value_size);
	int err;

	if (!value)
		return -ENOMEM;
	err = what == GPUBPF_QUERY_POP ? gpubpf_map__lookup_and_delete_elem(map, NULL, 0, value, map->value_size, 0) :
					 gpubpf_map__lookup_elem(map, NULL, 0, value, map->value_size, 0);
	err = told(s, map, queries[what].verb, err);
	if (!err)
		write_value(s, map, value, flags, out);
	free(value);
	return err;
}

int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, const void *value,
			 size_t size, FILE *out)
{
	struct gpubpf_map *map;
	int err = find(s, what, name, &map);

	if (err < 0)
		return err;
	if (what != GPUBPF_QUERY_PUSH)
		return take(s, map, what, flags, out);
	if (size != map->value_size)
		return gpubpf_session_fail(s, -EINVAL, "map %s: a value has %u bytes, and %zu were given", name,
					   map->value_size, size);
	return told(s, map, "push", gpubpf_map__update_elem(map, NULL, 0, value, size, 0));
}
