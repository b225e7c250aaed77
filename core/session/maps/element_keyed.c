/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers queries for elements by key, which other command-line processes send. The words of the command line are [key
 * DATA] [value DATA] [any | noexist | exist]. The map's BTF types determine the form of DATA (core/load/typed/read.c).
 */
#include <bpf/btf.h>
#include <errno.h>
#include <json-c/json.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "entries.h"
#include "core/session/base/json_write.h"
#include "core/session/stacks/stacks.h"

struct request {
	struct gpubpf_session *s;
	struct gpubpf_map *map;
	const char *verb;
	uint32_t what, flags; /* enum gpubpf_query, and enum gpubpf_query_flags */
	uint64_t update;      /* flag for an update: BPF_ANY, BPF_NOEXIST or BPF_EXIST */
	uint8_t *key, *value; /* NULL: not passed */
	const char *variable; /* name of a global variable that the words use as the key; NULL: none */
	size_t value_size;    /* bytes of `value`: one value, or the values for all multiprocessors */
	FILE *out;
	struct json_object *list; /* elements that a look-up has found, for JSON output */
	uint32_t found;
};

static const struct {
	const char *name;
	uint64_t flags;
} update_flags[] = { { "any", BPF_ANY }, { "noexist", BPF_NOEXIST }, { "exist", BPF_EXIST } };

static int refuse(struct request *q, const char *why)
{
	return gpubpf_session_fail(q->s, -EINVAL, "map %s: %s: %s", q->map->name, q->verb, why);
}

static bool is_update(const char *word, uint64_t *flags)
{
	for (size_t i = 0; i < sizeof(update_flags) / sizeof(update_flags[0]); i++)
		if (!strcmp(word, update_flags[i].name)) {
			*flags = update_flags[i].flags;
			return true;
		}
	return false;
}

static int read_data(struct request *q, const char *what, uint32_t type, char *const *words, uint32_t n, void *data,
		     size_t size)
{
	return gpubpf_element_read(q->s, q->map, q->what, what, type, words, n, data, size);
}

static bool is_index(const struct gpubpf_map *map)
{
	return map->type->flags & GPUBPF_MAP_U32KEY && !map->btf_key;
}

static uint32_t index_of(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

/*
 * Read an array's index from a decimal or hexadecimal number. Only for arrays without a BTF key type, such as global
 * data. Returns false if the word is not an index.
 */
static bool read_index(const struct request *q, const char *word)
{
	unsigned long index;
	char *end;

	if (!is_index(q->map) || word[0] < '0' || word[0] > '9')
		return false;
	index = strtoul(word, &end, 0);
	if (*end || index > UINT32_MAX)
		return false;
	memcpy(q->key, &(uint32_t){ (uint32_t)index }, sizeof(uint32_t));
	return true;
}

static int read_key(struct request *q, char *const *words, uint32_t n)
{
	q->key = calloc(1, q->map->key_size + 8);
	if (!q->key)
		return -ENOMEM;
	if (n == 1 && read_index(q, words[0]))
		return 0;
	return read_data(q, "key", q->map->btf_key, words, n, q->key, q->map->key_size);
}

/* Read words such as .NAME=5, which assign global variables. The other variables keep their values. */
static int read_variables(struct request *q, char *const *words, uint32_t n)
{
	const struct gpubpf_typed_lookup names = gpubpf_element_lookup(q->s);
	const struct gpubpf_typed_form form = { gpubpf_map_btf(q->s, gpubpf_map_index(q->map)), q->map->btf_value, &names };
	int err = gpubpf_map__lookup_elem(q->map, q->key, q->map->key_size, q->value, q->value_size, 0);
	char why[400];

	if (!err &&
	    gpubpf_typed_change(&form, (const char *const *)words, n, q->value, q->value_size, why, sizeof(why)) < 0)
		return refuse(q, why);
	return err;
}

/* Read an element of a program array: the name of a program that the array can hold. */
static int read_program(struct request *q, char *const *words, uint32_t n)
{
	char why[400] = "a value must be the name of a program: ";

	for (uint32_t i = 0; i < q->map->ntargets; i++) {
		const struct gpubpf_map_target *target = &q->map->targets[i];
		size_t at = strlen(why);

		if (n == 1 && !strcmp(words[0], target->name)) {
			memcpy(q->value, &target->number, sizeof(target->number));
			return 0;
		}
		snprintf(why + at, sizeof(why) - at, "%s%s", i ? ", " : "", target->name);
	}
	return refuse(q, q->map->ntargets ? why :
					    "no program of its object can be an element; the map's definition must "
					    "name the program, or the program's section must name no kernel");
}

/* Read an element of a map of maps: the name of a map. */
static int read_inner(struct request *q, char *const *words, uint32_t n)
{
	const struct gpubpf_map *inner = n == 1 ? gpubpf_session__find_map_by_name(q->s, words[0]) : NULL;
	uint32_t number = inner ? gpubpf_map__number(inner) : 0;

	if (!inner)
		return refuse(q, "a value must be the name of a map of the session; gpubpf map show lists them");
	if (!gpubpf_map_accepts_element(q->map, number))
		return refuse(q, "that map differs from the definition of the elements: its type, sizes, max_entries "
				 "and flags must be equal, and no program may have used it before");
	memcpy(q->value, &number, sizeof(number));
	return 0;
}

/* Read one value, which is stored for all multiprocessors, or the bytes of the values of all multiprocessors. */
static int read_value(struct request *q, char *const *words, uint32_t n)
{
	size_t one = q->map->value_size, stride = (one + 7) & ~7ul;
	int err;

	q->value = calloc(1, q->value_size + 8);
	if (!q->value)
		return -ENOMEM;
	if (gpubpf_map_holds_objects(q->map))
		return q->map->inner ? read_inner(q, words, n) : read_program(q, words, n);
	if (n - (n && !strcmp(words[0], "hex")) == q->value_size && q->value_size != one)
		return read_data(q, "value", 0, words, n, q->value, q->value_size);
	if (q->map->global_data && n && (words[0][0] == '.' || words[0][0] == '{'))
		return read_variables(q, words, n);
	err = read_data(q, "value", q->map->btf_value, words, n, q->value, one);
	for (size_t at = stride; !err && at + one <= q->value_size; at += stride)
		memcpy(q->value + at, q->value, one);
	return err;
}

/* Returns true if the word is a global variable, which `map dump` prints in place of the key. */
static bool is_variable(const struct request *q, const char *word)
{
	return q->map->global_data && q->what != GPUBPF_QUERY_NEXT && (word[0] < '0' || word[0] > '9') &&
	       strcmp(word, "hex");
}

/* Find the variable's type, offset and size. Returns false if there is no such variable. */
static bool find_variable(const struct request *q, const char *name, uint32_t *type, uint32_t *offset, uint32_t *size)
{
	const struct btf *btf = gpubpf_map_btf(q->s, gpubpf_map_index(q->map));
	const struct btf_type *t = btf ? btf__type_by_id(btf, q->map->btf_value) : NULL;

	for (uint32_t i = 0; t && btf_is_datasec(t) && i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(t)[i];
		const struct btf_type *var = btf__type_by_id(btf, v->type);
		const char *var_name = var && btf_is_var(var) ? btf__name_by_offset(btf, var->name_off) : NULL;

		if (!var_name || strcmp(var_name, name) || v->offset > q->value_size || v->size > q->value_size - v->offset)
			continue;
		*type = var->type;
		*offset = v->offset;
		*size = v->size;
		return true;
	}
	return false;
}

/*
 * Set the global variable NAME. Converts the words and passes them to read_variables(): "5" becomes .NAME=5, ".x=1"
 * becomes .NAME.x=1, and "1 2" becomes .NAME[0]=1 .NAME[1]=2.
 */
static int set_variable(struct request *q, const char *name, char *const *words, uint32_t n)
{
	char **whole = calloc(n + 1, sizeof(*whole));
	int err = whole && (q->value = calloc(1, q->value_size + 8)) ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		char element[16] = "";

		if (n > 1)
			snprintf(element, sizeof(element), "[%u]", i);
		if (asprintf(&whole[i], ".%s%s%s%s", name, words[i][0] == '.' ? "" : element,
			     words[i][0] == '.' ? "" : "=", words[i]) < 0) {
			whole[i] = NULL;
			err = -ENOMEM;
		}
	}
	if (!err)
		err = read_variables(q, whole, n);
	for (uint32_t i = 0; whole && i < n; i++)
		free(whole[i]);
	free(whole);
	return err;
}

static int read_words(struct request *q, char *const *words, uint32_t n)
{
	bool takes_value = q->what == GPUBPF_QUERY_UPDATE;
	uint32_t value = 0;
	int err;

	if (!n && q->what == GPUBPF_QUERY_NEXT)
		return 0;
	if (!n || strcmp(words[0], "key"))
		return refuse(q, "a key is missing; use key DATA");
	if (takes_value && is_update(words[n - 1], &q->update))
		n--;
	for (uint32_t i = 1; i < n && takes_value && !value; i++)
		value = !strcmp(words[i], "value") ? i : 0;
	if (takes_value && !value)
		return refuse(q, "a value is missing; use key DATA value DATA");
	if (n > 1 && is_variable(q, words[1]) && (takes_value ? value : n) == 2) {
		q->variable = words[1] + (words[1][0] == '.');
		q->key = calloc(1, q->map->key_size + 8);
		if (!q->key)
			return -ENOMEM;
		return takes_value ? set_variable(q, q->variable, words + value + 1, n - value - 1) : 0;
	}
	err = read_key(q, words + 1, (takes_value ? value : n) - 1);
	return err || !takes_value ? err : read_value(q, words + value + 1, n - value - 1);
}

/* -- answers -- */

static int report_error(struct request *q, int err)
{
	bool index = q->map->type->flags & GPUBPF_MAP_U32KEY;
	const struct {
		int err;
		const char *why;
	} whys[] = {
		{ -ENOENT, index ? "has no element of that index" : "has no such key" },
		{ -EEXIST, index ? "is an array, whose elements all exist" : "has that key" },
		{ -E2BIG, index ? "has no element of that index" : "is full" },
		{ -ENOSPC, "is full" },
		{ -EPERM, "is read-only" },
		{ -EINVAL, index ? "is an array; its elements cannot be deleted" : "does not support this operation" },
		{ -EBUSY, "is busy, because another update has not finished; try again" },
	};

	for (size_t i = 0; err && i < sizeof(whys) / sizeof(whys[0]); i++)
		if (err == whys[i].err)
			return gpubpf_session_fail(q->s, err, "map %s %s", q->map->name, whys[i].why);
	return err ? gpubpf_session_fail(q->s, err, "map %s: %s: %s", q->map->name, q->verb, strerror(-err)) : 0;
}

static void print_copies(struct request *q, const struct gpubpf_entry *e)
{
	char label[32];

	for (uint32_t c = 0; c < e->copies; c++) {
		snprintf(label, sizeof(label), "value (copy %u)", c);
		gpubpf_element_text(q->s, q->map, label, q->map->btf_value, (const char *)e->value + c * e->stride,
				    q->map->value_size, q->flags, q->out);
		fputc('\n', q->out);
	}
}

static void print_stack(struct request *q, const struct gpubpf_stack *stack)
{
	char text[512];

	fprintf(q->out, "value:\n");
	for (uint32_t i = 0; stack && i < stack->n; i++) {
		gpubpf_stack_frame(q->s, stack, i, true, text, sizeof(text));
		fprintf(q->out, "    %s\n", text);
	}
}

static void print_key(struct request *q, const char *label, const void *key)
{
	if (is_index(q->map))
		fprintf(q->out, "%s: %u", label, index_of(key));
	else
		gpubpf_element_text(q->s, q->map, label, q->map->btf_key, key, q->map->key_size, q->flags, q->out);
}

static struct json_object *make_key_json(struct request *q, const void *key)
{
	return is_index(q->map) ? json_object_new_int64(index_of(key)) :
				  gpubpf_element_json(q->s, q->map, q->map->btf_key, key, q->map->key_size, q->flags);
}

static void print_entry(struct request *q, const struct gpubpf_entry *e)
{
	bool several = q->map->type->flags & GPUBPF_MAP_COPIES;

	print_key(q, "key", e->key);
	fputs(several ? "\n" : "  ", q->out);
	if (several) {
		print_copies(q, e);
		return;
	}
	if (q->map->type->flags & GPUBPF_MAP_STACKS) {
		print_stack(q, gpubpf_stack_by_key(q->map, e->key));
		return;
	}
	if (gpubpf_map_holds_objects(q->map))
		fprintf(q->out, "value: %s", gpubpf_entry_object_name(q->map, e->value));
	else
		gpubpf_element_text(q->s, q->map, "value", q->map->btf_value, e->value, q->map->value_size, q->flags,
				    q->out);
	fputc('\n', q->out);
}

static void add_entry_json(struct request *q, const struct gpubpf_entry *e)
{
	bool several = q->map->type->flags & GPUBPF_MAP_COPIES;
	struct json_object *o = json_object_new_object(), *values = several ? json_object_new_array() : NULL;

	json_object_object_add(o, "key", make_key_json(q, e->key));
	for (uint32_t c = 0; several && c < e->copies; c++)
		json_object_array_add(values, gpubpf_element_json(q->s, q->map, q->map->btf_value,
								  (const char *)e->value + c * e->stride,
								  q->map->value_size, q->flags));
	if (q->map->type->flags & GPUBPF_MAP_STACKS)
		json_object_object_add(o, "value", gpubpf_stack_json(q->s, gpubpf_stack_by_key(q->map, e->key)));
	else
		json_object_object_add(o, several ? "values" : "value",
				       several ? values :
				       gpubpf_map_holds_objects(q->map) ?
						 json_object_new_string(gpubpf_entry_object_name(q->map, e->value)) :
						 gpubpf_element_json(q->s, q->map, q->map->btf_value, e->value,
								     q->map->value_size, q->flags));
	json_object_array_add(q->list, o);
}

static void show(struct request *q, const struct gpubpf_entry *e)
{
	q->found++;
	if (q->list)
		add_entry_json(q, e);
	else
		print_entry(q, e);
}

static int show_if_same_key(void *arg, const struct gpubpf_entry *e)
{
	struct request *q = arg;

	if (!memcmp(e->key, q->key, q->map->key_size))
		show(q, e);
	return 0;
}

static int show_variable(struct request *q)
{
	uint32_t type, offset, size;
	struct json_object *o;

	if (!find_variable(q, q->variable, &type, &offset, &size))
		return gpubpf_session_fail(q->s, -ENOENT, "map %s has no variable %s", q->map->name, q->variable);
	if (!q->list) {
		fprintf(q->out, "key: %s  ", q->variable);
		gpubpf_element_text(q->s, q->map, "value", type, q->value + offset, size, q->flags, q->out);
		fputc('\n', q->out);
		return 0;
	}
	o = json_object_new_object();
	json_object_object_add(o, "key", json_object_new_string(q->variable));
	json_object_object_add(o, "value", gpubpf_element_json(q->s, q->map, type, q->value + offset, size, q->flags));
	json_object_array_add(q->list, o);
	return 0;
}

/* Look up the key. If the map has values per multiprocessor or thread, show the values of each device. */
static int look_up(struct request *q)
{
	uint32_t index = (uint32_t)(q->map - gpubpf_session_unit(q->s)->maps);
	struct gpubpf_entry e = { .key = q->key, .copies = 1, .arena = -1, .value_size = q->map->value_size };
	int err;

	if (q->map->type->flags & GPUBPF_MAP_COPIES) {
		err = gpubpf_entries_walk(q->s, index, show_if_same_key, q);
		return report_error(q, err ? err : q->found ? 0 : -ENOENT);
	}
	q->value = calloc(1, q->value_size + 8);
	if (!q->value)
		return -ENOMEM;
	err = gpubpf_map__lookup_elem(q->map, q->key, q->map->key_size, q->value, q->value_size, 0);
	e.value = q->value;
	if (!err && q->variable)
		return show_variable(q);
	if (!err)
		show(q, &e);
	return report_error(q, err);
}

static int look_up_all(struct request *q)
{
	int err;

	if (!(q->flags & GPUBPF_QUERY_JSON))
		return look_up(q);
	q->list = json_object_new_array();
	err = look_up(q);
	if (!err && json_object_array_length(q->list) == 1)
		gpubpf_json_write(json_object_get(json_object_array_get_idx(q->list, 0)), q->out);
	else if (!err)
		gpubpf_json_write(json_object_get(q->list), q->out);
	json_object_put(q->list);
	return err;
}

static int print_next_key(struct request *q)
{
	uint8_t *key = calloc(1, q->map->key_size + 8);
	struct json_object *o;
	int err = key ? gpubpf_map__get_next_key(q->map, q->key, key, q->map->key_size) : -ENOMEM;

	if (err == -ENOENT) {
		err = gpubpf_session_fail(q->s, err, "map %s has no key after this key", q->map->name);
	} else if (!err && q->flags & GPUBPF_QUERY_JSON) {
		o = json_object_new_object();
		json_object_object_add(o, "key", q->key ? make_key_json(q, q->key) : NULL);
		json_object_object_add(o, "next_key", make_key_json(q, key));
		gpubpf_json_write(o, q->out);
	} else if (!err) {
		print_key(q, "next key", key);
		fputc('\n', q->out);
	}
	free(key);
	return err;
}

static int update_element(struct request *q)
{
	return report_error(q, gpubpf_map__update_elem(q->map, q->key, q->map->key_size, q->value, q->value_size,
						       q->update));
}

static int delete_element(struct request *q)
{
	return report_error(q, gpubpf_map__delete_elem(q->map, q->key, q->map->key_size, 0));
}

int gpubpf_keyed_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
		       uint32_t nwords, FILE *out)
{
	static int (*const run[])(struct request *q) = {
		[GPUBPF_QUERY_LOOKUP] = look_up_all,
		[GPUBPF_QUERY_UPDATE] = update_element,
		[GPUBPF_QUERY_DELETE] = delete_element,
		[GPUBPF_QUERY_NEXT] = print_next_key,
	};
	struct request q = { .s = s, .what = what, .flags = flags, .out = out, .verb = gpubpf_element_verb(what)->name };
	int err = gpubpf_element_find(s, what, name, &q.map);

	if (err < 0)
		return err;
	q.value_size = gpubpf_map__user_value_size(q.map);
	err = read_words(&q, words, nwords);
	if (!err)
		err = run[what](&q);
	if (err == -ENOMEM)
		gpubpf_session_fail(s, err, "map %s: out of memory for an element", q.map->name);
	free(q.key);
	free(q.value);
	return err;
}
