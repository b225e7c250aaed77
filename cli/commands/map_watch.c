/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf map watch, map top: print a map of a running session repeatedly, until the session ends. Both read the output
 * of `map dump --json`.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/session/session.h"

#define DEFAULT_MS 1000
#define TOP_ROWS 20                    /* maximum rows on a terminal */

struct row {
	const char *key; /* the entry's key as JSON; owned by the document */
	const char *value;
	double number; /* the value as a number, by which rows are sorted */
};

struct picture {
	struct json_object *document;
	struct row *rows;
	size_t n;
};

struct watch {
	const struct cli_args *args;
	char path[512];               /* path of the session's socket, found once */
	uint64_t interval_ms, rounds; /* interval_ms: time between two reads; rounds: number of reads, 0: until the
				        * session ends */
	bool json;
};

static void free_picture(struct picture *p)
{
	json_object_put(p->document);
	free(p->rows);
	*p = (struct picture){ 0 };
}

static struct json_object *get_member(struct json_object *o, const char *name)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, name, &v);
	return v;
}

static const char *json_text(struct json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void print_value(struct json_object *o, FILE *out);

static void print_members(struct json_object *o, FILE *out)
{
	const char *between = "";

	for (struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	     !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
		fprintf(out, "%s.%s = ", between, json_object_iter_peek_name(&i));
		print_value(json_object_iter_peek_value(&i), out);
		between = ", ";
	}
}

/* Print like `map dump`: { .x = 1, .slots = { 1, 2 } }. */
static void print_value(struct json_object *o, FILE *out)
{
	bool members = json_object_is_type(o, json_type_object);

	if (!members && !json_object_is_type(o, json_type_array)) {
		fputs(json_object_is_type(o, json_type_string) ? json_object_get_string(o) : json_text(o), out);
		return;
	}
	fputs("{ ", out);
	if (members)
		print_members(o, out);
	for (size_t i = 0, n = members ? 0 : json_object_array_length(o); i < n; i++) {
		fputs(i ? ", " : "", out);
		print_value(json_object_array_get_idx(o, i), out);
	}
	fputs(" }", out);
}

/*
 * Format JSON as `map dump` prints it; text that is not JSON stays unchanged. The caller frees the result; NULL: out of
 * memory.
 */
static char *format_value(const char *json)
{
	struct json_object *o = json_tokener_parse(json);
	char *text = NULL;
	size_t size;
	FILE *out = o ? open_memstream(&text, &size) : NULL;

	if (out)
		print_value(o, out);
	if (out && fclose(out) == EOF) {
		free(text);
		text = NULL;
	}
	json_object_put(o);
	return text ? text : strdup(json);
}

static bool get_number(struct json_object *o, double *number)
{
	if (!json_object_is_type(o, json_type_int) && !json_object_is_type(o, json_type_double))
		return false;
	*number = json_object_get_double(o);
	return true;
}

/* Return the number in a value; for a struct, that of its first numeric member. */
static double find_number(struct json_object *o)
{
	double number = 0;

	if (get_number(o, &number) || !json_object_is_type(o, json_type_object))
		return number;
	for (struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	     !json_object_iter_equal(&i, &end); json_object_iter_next(&i))
		if (get_number(json_object_iter_peek_value(&i), &number))
			break;
	return number;
}

/* Return a text that identifies an entry: its key and, if each device has a separate map, the device. */
static const char *identity(struct json_object *entry)
{
	static const char *const names[] = { "key", "process", "device", "backend" };
	struct json_object *id;

	if (!get_member(entry, "device"))
		return json_text(get_member(entry, "key"));
	id = json_object_new_object();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_object_add(id, names[i], json_object_get(get_member(entry, names[i])));
	json_object_object_add(entry, "identity", id);
	return json_text(id);
}

static void read_row(struct json_object *entry, struct row *row)
{
	struct json_object *sum = get_member(entry, "sum"), *value = sum ? sum : get_member(entry, "value");

	if (!value)
		value = get_member(entry, "values");
	row->key = identity(entry);
	row->value = json_text(value);
	row->number = find_number(value);
}

/* Is the text a key? Entries of a queue have none. */
static bool has_key(const char *key)
{
	return strcmp(key, "null") != 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static int by_number(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->number != y->number ? (x->number < y->number) - (x->number > y->number) : by_key(a, b);
}

/* Return the only map in the document; NULL: there is no map. */
static struct json_object *map_in(const struct picture *p)
{
	struct json_object *maps = get_member(p->document, "maps");

	return maps && json_object_is_type(maps, json_type_array) ? json_object_array_get_idx(maps, 0) : NULL;
}

/* Return why maps of this type have no entries, and what to use instead; NULL: they have entries. */
static const char *no_entries_reason(const char *name)
{
	const struct gpubpf_map_type *type;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)); i++)
		if (!strcmp(type->name, name) && type->flags & GPUBPF_MAP_RING)
			return "the session that runs the program reads its records; gpubpf run --jsonl writes them";
		else if (!strcmp(type->name, name) && type->flags & GPUBPF_MAP_ASKED)
			return "gpubpf map peek NAME value DATA tests whether it has a value";
	return NULL;
}

/* Read the rows of the only map in the document. */
static bool read_rows(struct picture *p)
{
	struct json_object *map = map_in(p), *entries = map ? get_member(map, "entries") : NULL;

	if (!entries || !json_object_is_type(entries, json_type_array))
		return false;
	p->n = json_object_array_length(entries);
	p->rows = calloc(p->n + 1, sizeof(*p->rows));
	for (size_t i = 0; p->rows && i < p->n; i++)
		read_row(json_object_array_get_idx(entries, i), &p->rows[i]);
	return p->rows;
}

static int check_type(const struct watch *w, struct picture *p)
{
	const char *type = json_object_get_string(get_member(map_in(p), "type")),
		   *why = type ? no_entries_reason(type) : NULL;

	if (!why)
		return CLI_OK;
	cli_error("map %s, of type %s, has no entries: %s", w->args->rest[0], type, why);
	free_picture(p);
	return CLI_FAILED;
}

static int read_picture(const struct watch *w, struct picture *p)
{
	struct gpubpf_writer more = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int status = CLI_FAILED;

	gpubpf_put_str(&more, w->args->rest[0]);
	if (out) {
		status = cli_session_query(w->args, w->path, GPUBPF_QUERY_DUMP, true, &more, out);
		fclose(out);
	} else {
		gpubpf_writer_finish(&more);
	}
	*p = (struct picture){ .document = status == CLI_OK && text ? json_tokener_parse(text) : NULL };
	free(text);
	if (status == CLI_OK && !read_rows(p)) {
		cli_error("map %s: the session's answer cannot be parsed", w->args->rest[0]);
		free_picture(p);
		status = CLI_FAILED;
	}
	return status == CLI_OK ? check_type(w, p) : status;
}

/* -- watch -- */

static void print_change(const struct watch *w, const char *key, const char *value)
{
	char *k, *v;

	if (w->json) {
		printf("{\"key\":%s,\"value\":%s}\n", key, value ? value : "null");
		return;
	}
	k = format_value(key);
	v = value ? format_value(value) : NULL;
	if (!has_key(key))
		printf("value: %s\n", v ? v : "is gone");
	else if (v)
		printf("key: %s  value: %s\n", k, v);
	else
		printf("key: %s  is gone\n", k);
	free(k);
	free(v);
}

/* Print new, changed and deleted entries of two pictures that are sorted by key. */
static void print_changes(const struct watch *w, const struct picture *was, const struct picture *is)
{
	size_t a = 0, b = 0;

	while (a < was->n || b < is->n) {
		int order = a == was->n ? 1 : b == is->n ? -1 : strcmp(was->rows[a].key, is->rows[b].key);

		if (order < 0)
			print_change(w, was->rows[a].key, NULL);
		else if (order > 0 || strcmp(was->rows[a].value, is->rows[b].value))
			print_change(w, is->rows[b].key, is->rows[b].value);
		a += order <= 0;
		b += order >= 0;
	}
}

static void show_changes(const struct watch *w, struct picture *was, struct picture *is)
{
	qsort(is->rows, is->n, sizeof(*is->rows), by_key);
	print_changes(w, was, is);
}

/* -- top -- */

static void show_json(const struct picture *p)
{
	printf("[");
	for (size_t i = 0; i < p->n; i++)
		printf("%s{\"key\":%s,\"value\":%s}", i ? "," : "", p->rows[i].key, p->rows[i].value);
	printf("]\n");
}

static void put_line(const char *value, const char *key)
{
	char *v = format_value(value), *k = key ? format_value(key) : NULL;

	if (k)
		printf("%-24s %s\n", v, k);
	else
		printf("%s\n", v);
	free(v);
	free(k);
}

/* Show the rows: redraw a terminal; append to a file or a pipe. */
static void show_top(const struct watch *w, struct picture *was, struct picture *p)
{
	bool drawn = isatty(STDOUT_FILENO);
	size_t n = drawn && p->n > TOP_ROWS ? TOP_ROWS : p->n;

	qsort(p->rows, p->n, sizeof(*p->rows), by_number);
	if (w->json) {
		show_json(p);
		return;
	}
	if (drawn && (fflush(stdout) || write(STDOUT_FILENO, "\033[H\033[J", 6) != 6))
		return;
	put_line("VALUE", has_key(n ? p->rows[0].key : "null") ? "KEY" : NULL);
	for (size_t i = 0; i < n; i++)
		put_line(p->rows[i].value, has_key(p->rows[i].key) ? p->rows[i].key : NULL);
	if (!drawn)
		printf("\n");
}

/* -- both -- */

static int read_options(struct watch *w, const struct cli_args *args)
{
	*w = (struct watch){ .args = args, .interval_ms = DEFAULT_MS, .json = cli_has(args, OPT_JSON) };
	if (args->nrest != 1) {
		cli_error("map %s: expects the name of one map; gpubpf map show lists them", args->command->verb);
		return CLI_USAGE;
	}
	if (!cli_ms(args, OPT_INTERVAL, &w->interval_ms) || !cli_u64(args, OPT_ROUNDS, 1, &w->rounds))
		return CLI_USAGE;
	return cli_session_find(args, w->path, sizeof(w->path));
}

static int run_loop(const struct cli_args *args,
		    void (*show)(const struct watch *w, struct picture *was, struct picture *is))
{
	struct picture was = { 0 }, is;
	struct watch w;
	int status = read_options(&w, args);

	for (uint64_t round = 0; status == CLI_OK && (!w.rounds || round < w.rounds); round++) {
		if (round)
			nanosleep(&(struct timespec){ w.interval_ms / 1000, w.interval_ms % 1000 * 1000000 }, NULL);
		if (round && access(w.path, F_OK) < 0)
			break; /* the session has ended */
		status = read_picture(&w, &is);
		if (status != CLI_OK)
			break;
		show(&w, &was, &is);
		fflush(stdout);
		free_picture(&was);
		was = is;
	}
	free_picture(&was);
	return status;
}

int gpubpf_cmd_map_watch(const struct cli_args *args)
{
	return run_loop(args, show_changes);
}

int gpubpf_cmd_map_top(const struct cli_args *args)
{
	return run_loop(args, show_top);
}
