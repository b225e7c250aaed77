/* SPDX-License-Identifier: Apache-2.0 */
/* Answers queries for elements of maps without keys (push, pop and peek), which other command-line processes send. */
#include "element.h"
#include "private.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/text/nearest.h"
#include "entries.h"
#include "core/session/base/json_write.h"

static const struct gpubpf_element_verb verbs[] = {
	[GPUBPF_QUERY_PEEK] = { "peek", GPUBPF_OP_PEEK, false },
	[GPUBPF_QUERY_PUSH] = { "push", GPUBPF_OP_PUSH, true },
	[GPUBPF_QUERY_POP] = { "pop", GPUBPF_OP_POP, true },
	[GPUBPF_QUERY_LOOKUP] = { "lookup", GPUBPF_OP_LOOKUP, false },
	[GPUBPF_QUERY_UPDATE] = { "update", GPUBPF_OP_UPDATE, true },
	[GPUBPF_QUERY_DELETE] = { "delete", GPUBPF_OP_DELETE, true },
	[GPUBPF_QUERY_NEXT] = { "getnext", GPUBPF_OP_LOOKUP, false },
};

const struct gpubpf_element_verb *gpubpf_element_verb(uint32_t what)
{
	return &verbs[what];
}

/* Returns true if every device that uses the map has its own copy of the map, which the tool cannot change. */
static bool is_device_only(const struct gpubpf_session *s, const struct gpubpf_map *map)
{
	bool used = false;

	for (uint32_t i = 1; i < s->maps->narenas; i++)
		used |= s->maps->arenas[i].used && !gpubpf_placement_sees_host_writes(s, i, gpubpf_map_index(map));
	return used && !s->maps->arenas[0].used;
}

/*
 * Returns true if the tool supports the operation on the map. On maps of maps, program arrays, stack traces and rows of launches, the
 * tool supports more operations than programs can use.
 */
static bool supports_op(const struct gpubpf_map *map, enum gpubpf_op op)
{
	return map->type->ops & GPUBPF_OP_BIT(op) ||
	       (gpubpf_map_holds_objects(map) &&
		(op == GPUBPF_OP_LOOKUP || op == GPUBPF_OP_UPDATE || op == GPUBPF_OP_DELETE)) ||
	       (map->type->flags & GPUBPF_MAP_READ && op == GPUBPF_OP_LOOKUP) ||
	       (map->type->flags & GPUBPF_MAP_STACKS && (op == GPUBPF_OP_LOOKUP || op == GPUBPF_OP_DELETE));
}

/*
 * Returns the map with the most similar name, or NULL. A name such as .bss matches the full name, to which libbpf has
 * prefixed the object's name.
 */
static const struct gpubpf_map *find_similar_map(const struct gpubpf_session *s, const char *name)
{
	size_t least = strlen(name) / 3 + 2, len = strlen(name);
	const struct gpubpf_map *near = NULL;

	for (struct gpubpf_map *map = NULL; (map = gpubpf_session__next_map(s, map));) {
		size_t all = strlen(map->name), d = gpubpf_distance(name, map->name);

		if (name[0] == '.' && all > len && !strcmp(map->name + all - len, name))
			d = 0;
		if (d >= least)
			continue;
		least = d;
		near = map;
	}
	return near;
}

int gpubpf_element_report_no_map(struct gpubpf_session *s, const char *name)
{
	const struct gpubpf_map *near = find_similar_map(s, name);

	return gpubpf_session_fail(s, -ENOENT, "there is no map %s in the session%s%s%s; gpubpf map show lists its maps",
				   name, near ? ", did you mean " : "", near ? near->name : "", near ? "?" : "");
}

int gpubpf_element_find(struct gpubpf_session *s, uint32_t what, const char *name, struct gpubpf_map **map)
{
	const struct gpubpf_element_verb *verb = &verbs[what];

	*map = gpubpf_session__find_map_by_name(s, name);
	if (!*map)
		return gpubpf_element_report_no_map(s, name);
	if (!supports_op(*map, verb->op))
		return gpubpf_session_fail(s, -EINVAL,
					   "map %s, of type %s, does not support %s; print the map with gpubpf map "
					   "dump",
					   name, (*map)->type->name, verb->name);
	if (verb->changes && is_device_only(s, *map))
		return gpubpf_session_fail(s, -EOPNOTSUPP,
					   "map %s is in a device's own memory, where only GPU programs can %s; %s",
					   name, verb->name,
					   (*map)->type->flags & GPUBPF_MAP_KEYED ?
						   "print it with gpubpf map lookup or gpubpf map dump" :
						   "print it with gpubpf map peek or gpubpf map dump");
	return 0;
}

static int report_error(struct gpubpf_session *s, const struct gpubpf_map *map, const char *verb, int err)
{
	const struct {
		int err;
		const char *why;
	} whys[] = {
		{ -ENOENT, map->type->flags & GPUBPF_MAP_ASKED ? "has no such value" : "is empty" },
		{ -E2BIG, "is full" },
		{ -EPERM, "is read-only" },
		{ -EBUSY, "is busy, because another update has not finished; try again" },
	};

	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++)
		if (err == whys[i].err)
			return gpubpf_session_fail(s, err, "map %s %s", map->name, whys[i].why);
	return err ? gpubpf_session_fail(s, err, "map %s: %s: %s", map->name, verb, strerror(-err)) : 0;
}

static struct gpubpf_typed_names get_typed_names(struct gpubpf_session *s, uint32_t flags)
{
	const struct gpubpf_report_opts opts = {
		.json = flags & GPUBPF_QUERY_JSON,
		.demangle = flags & GPUBPF_QUERY_DEMANGLE,
		.json_strings = flags & GPUBPF_QUERY_JSON_STRINGS,
	};

	return gpubpf_session_names(s, &opts);
}

void gpubpf_element_text(struct gpubpf_session *s, const struct gpubpf_map *map, const char *label, uint32_t type,
			 const void *data, size_t size, uint32_t flags, FILE *out)
{
	struct gpubpf_typed_names names = get_typed_names(s, flags);
	const struct btf *btf = gpubpf_map_btf(s, (uint32_t)(map - gpubpf_session_unit(s)->maps));
	size_t room = 64 + 8 * size;
	char *text = malloc(room);

	if (text && gpubpf_typed_text(btf, type, &names, data, size, text, room) >= 0)
		fprintf(out, "%s: %s", label, text);
	else
		fprintf(out, "%s: (%zu bytes)", label, size);
	free(text);
}

struct json_object *gpubpf_element_json(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t type,
					const void *data, size_t size, uint32_t flags)
{
	struct gpubpf_typed_names names = get_typed_names(s, flags);

	return gpubpf_typed_json(gpubpf_map_btf(s, (uint32_t)(map - gpubpf_session_unit(s)->maps)), type, &names, data,
				 size);
}

static void write_value(struct gpubpf_session *s, const struct gpubpf_map *map, const void *value, uint32_t flags,
			FILE *out)
{
	struct json_object *o;

	if (!(flags & GPUBPF_QUERY_JSON)) {
		gpubpf_element_text(s, map, "value", map->btf_value, value, map->value_size, flags, out);
		fputc('\n', out);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "value", gpubpf_element_json(s, map, map->btf_value, value, map->value_size, flags));
	gpubpf_json_write(o, out);
}

/*
 * Returns the id of the kernel with that name. If no kernel has it, returns the id of the last kernel whose demangled
 * name matches. Stores the number of matches in *n.
 */
static uint64_t find_kernel(struct gpubpf_session *s, const char *name, uint32_t *n)
{
	uint64_t found = 0;

	*n = 0;
	for (uint64_t id = 0; id < gpubpf_kernels_count(s); id++) {
		if (!strcmp(name, gpubpf_kernel_full_name(s, id))) {
			*n = 1;
			return id;
		}
		if (!strcmp(name, gpubpf_kernel_display_name(s, id, true))) {
			found = id;
			++*n;
		}
	}
	return found;
}

/* Find a kernel's id by its name, for struct gpubpf_typed_lookup. Words that look like numbers are no names. */
static int read_kernel(void *ctx, const char *word, uint64_t *id, char *why, size_t why_size)
{
	struct gpubpf_session *s = ctx;
	uint32_t n;

	*id = find_kernel(s, word, &n);
	if (n > 1)
		snprintf(why, why_size, "%u kernels have the name %s; use the mangled name, such as %s", n, word,
			 gpubpf_kernel_full_name(s, *id));
	else if (!n && (word[0] < '0' || word[0] > '9') && !strchr("-{\"", word[0]))
		snprintf(why, why_size, "the session has no kernel %s; gpubpf session report lists them", word);
	else
		return (int)n;
	return -EINVAL;
}

struct gpubpf_typed_lookup gpubpf_element_lookup(struct gpubpf_session *s)
{
	return (struct gpubpf_typed_lookup){ s, read_kernel };
}

int gpubpf_element_read(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t verb, const char *what,
			uint32_t type, char *const *words, uint32_t n, void *data, size_t size)
{
	const struct gpubpf_typed_lookup names = gpubpf_element_lookup(s);
	const struct gpubpf_typed_form form = { gpubpf_map_btf(s, gpubpf_map_index(map)), type, &names };
	char why[4500]; /* enough for the name of a kernel, which can have 4,095 bytes */

	if (!gpubpf_typed_read(&form, (const char *const *)words, n, data, size, why, sizeof(why)))
		return 0;
	return gpubpf_session_fail(s, -EINVAL, "map %s: %s: %s: %s", map->name, verbs[verb].name, what, why);
}

/*
 * Read the words [value DATA]. push requires them. peek accepts them only for a bloom filter, to test for that value.
 */
static int read_value(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t what, char *const *words,
		      uint32_t n, void *value)
{
	bool asks = map->type->flags & GPUBPF_MAP_ASKED;

	if (what != GPUBPF_QUERY_PUSH && !asks)
		return n ? gpubpf_session_fail(s, -EINVAL, "map %s: %s takes no value: it prints the next value",
					       map->name, verbs[what].name) :
			   0;
	if (n < 2 || strcmp(words[0], "value"))
		return gpubpf_session_fail(s, -EINVAL, "map %s: a value is missing; gpubpf map %s %s value DATA",
					   map->name, verbs[what].name, map->name);
	return gpubpf_element_read(s, map, what, "value", map->btf_value, words + 1, n - 1, value, map->value_size);
}

static int run(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t what, void *value)
{
	if (what == GPUBPF_QUERY_PUSH)
		return gpubpf_map__update_elem(map, NULL, 0, value, map->value_size, 0);
	if (what == GPUBPF_QUERY_POP)
		return gpubpf_map__lookup_and_delete_elem(map, NULL, 0, value, map->value_size, 0);
	return gpubpf_map__lookup_elem(map, NULL, 0, value, map->value_size, 0);
}

int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
			 uint32_t nwords, FILE *out)
{
	struct gpubpf_map *map;
	int err = gpubpf_element_find(s, what, name, &map);
	void *value;

	if (err < 0)
		return err;
	value = calloc(1, map->value_size);
	if (!value)
		return gpubpf_session_fail(s, -ENOMEM, "map %s: out of memory for a value", name);
	err = read_value(s, map, what, words, nwords, value);
	if (!err)
		err = report_error(s, map, verbs[what].name, run(s, map, what, value));
	if (!err && what != GPUBPF_QUERY_PUSH)
		write_value(s, map, value, flags, out);
	free(value);
	return err;
}
