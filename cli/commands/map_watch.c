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

#include "cli/figures/map_columns.h"
#include "core/session/report/table.h"
#include "core/session/session.h"

#define DEFAULT_MS 1000
#define TOP_ROWS 20                    /* maximum number of rows on a terminal */

struct row {
	struct json_object *entry; /* owned by the document */
	const char *key;           /* the entry's key as JSON; owned by the document */
	const char *value;
	double number; /* the value as a number, by which `map top` sorts the rows */
};

struct picture {
	struct json_object *document;
	uint64_t read_ns; /* CLOCK_MONOTONIC */
	struct row *rows;
	size_t n;
};

struct watch {
	const struct cli_args *args;
	char path[512]; /* path of the session's socket, found once */
	/*
	 * interval_ms is the time between two reads. rounds is the number of reads, or 0 to read until the session
	 * ends.
	 */
	uint64_t interval_ms, rounds;
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

static const char *get_json_text(struct json_object *o)
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

/* Print a JSON value in the format of `map dump`: { .x = 1, .slots = { 1, 2 } }. */
static void print_value(struct json_object *o, FILE *out)
{
	bool members = json_object_is_type(o, json_type_object);

	if (!members && !json_object_is_type(o, json_type_array)) {
		fputs(json_object_is_type(o, json_type_string) ? json_object_get_string(o) : get_json_text(o), out);
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
 * Convert JSON text to the format of `map dump`. Text that is not JSON stays unchanged. The caller frees the result;
 * NULL means out of memory.
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

/* Return a text that identifies an entry: its key, and its device if each device has a separate map. */
static const char *get_identity(struct json_object *entry)
{
	static const char *const names[] = { "key", "process", "device", "backend" };
	struct json_object *id;

	if (!get_member(entry, "device"))
		return get_json_text(get_member(entry, "key"));
	id = json_object_new_object();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_object_add(id, names[i], json_object_get(get_member(entry, names[i])));
	json_object_object_add(entry, "identity", id);
	return get_json_text(id);
}

static void read_row(struct json_object *entry, struct row *row)
{
	struct json_object *sum = get_member(entry, "sum"), *value = sum ? sum : get_member(entry, "value");

	if (!value)
		value = get_member(entry, "values");
	row->entry = entry;
	row->key = get_identity(entry);
	row->value = get_json_text(value);
	row->number = map_order_number(entry);
}

/* Returns true if the text is a key. Entries of a queue have no key. */
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

/* Return the document's only map, or NULL if the document contains no map. */
static struct json_object *map_in(const struct picture *p)
{
	struct json_object *maps = get_member(p->document, "maps");

	return maps && json_object_is_type(maps, json_type_array) ? json_object_array_get_idx(maps, 0) : NULL;
}

/* Return why maps of this type have no entries to list, and which command to use instead. NULL: they have entries. */
static const char *find_no_entries_reason(const char *name)
{
	const struct gpubpf_map_type *type;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)); i++)
		if (!strcmp(type->name, name) && type->flags & GPUBPF_MAP_RING)
			return "only the session reads its records; gpubpf run --jsonl writes them to a file";
		else if (!strcmp(type->name, name) && type->flags & GPUBPF_MAP_ASKED)
			return "gpubpf map peek NAME value DATA tests whether it has a value";
	return NULL;
}

/*
 * Read the entries of the document's only map into p->rows. Returns false if the document has no entries or memory is
 * exhausted.
 */
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
		   *why = type ? find_no_entries_reason(type) : NULL;

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
	*p = (struct picture){ .document = status == CLI_OK && text ? json_tokener_parse(text) : NULL,
			       .read_ns = gpubpf_now_ns() };
	free(text);
	if (status == CLI_OK && !read_rows(p)) {
		cli_error("map %s: the session's answer cannot be parsed", w->args->rest[0]);
		free_picture(p);
		status = CLI_FAILED;
	}
	return status == CLI_OK ? check_type(w, p) : status;
}

/* Returns true if the amounts of the map are times, in nanoseconds. */
static bool has_times(const struct picture *p)
{
	struct json_object *map = map_in(p);

	return map && json_object_object_get_ex(map, "unprobed_factor", NULL);
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
		printf("value: %s\n", v ? v : "deleted");
	else if (v)
		printf("key: %s  value: %s\n", k, v);
	else
		printf("key: %s  deleted\n", k);
	free(k);
	free(v);
}

/* Print the table of changed entries, and start a new one. */
static void end_table(const struct map_columns *c, struct gpubpf_table *t)
{
	if (gpubpf_table_rows(t))
		gpubpf_table_print(t, stdout);
	gpubpf_table_finish(t);
	*t = (struct gpubpf_table){ 0 };
	map_columns_headings(c, t);
}

/*
 * Print the entries that were added, changed or deleted between `was` and `is`. Both must be sorted by key. Values with
 * members are rows of a table.
 */
static void print_changes(const struct watch *w, const struct picture *was, const struct picture *is)
{
	struct map_columns columns = { 0 };
	struct gpubpf_table t = { 0 };
	bool has_columns = !w->json && is->n && map_columns_init(&columns, is->rows[0].entry, has_times(is), 0);
	size_t a = 0, b = 0;

	end_table(&columns, &t);
	while (a < was->n || b < is->n) {
		int order = a == was->n ? 1 : b == is->n ? -1 : strcmp(was->rows[a].key, is->rows[b].key);

		if (order < 0)
			print_change(w, was->rows[a].key, NULL);
		else if (order == 0 && !strcmp(was->rows[a].value, is->rows[b].value))
			; /* unchanged */
		else if (has_columns)
			map_columns_cells(&columns, is->rows[b].entry, &t);
		else
			print_change(w, is->rows[b].key, is->rows[b].value);
		a += order <= 0;
		b += order >= 0;
	}
	end_table(&columns, &t);
	gpubpf_table_finish(&t);
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

static void put_text(struct gpubpf_table *t, const char *json)
{
	char *text = format_value(json);

	gpubpf_table_text(t, text ? text : "?");
	free(text);
}

/* Returns true if the rows have different values of this member. */
static bool has_several(const struct picture *p, const char *name)
{
	struct json_object *first = p->n ? get_member(p->rows[0].entry, name) : NULL;

	for (size_t i = 1; first && i < p->n; i++)
		if (!json_object_equal(first, get_member(p->rows[i].entry, name)))
			return true;
	return false;
}

static void put_owner(struct gpubpf_table *t, struct json_object *entry, bool has_backends)
{
	const char *backend = has_backends ? json_object_get_string(get_member(entry, "backend")) : "";

	gpubpf_table_cell(t, "%d/%s%s%d", json_object_get_int(get_member(entry, "process")), backend,
			  backend[0] ? ":" : "", json_object_get_int(get_member(entry, "device")));
}

/* Add the increase per second since the earlier picture, which is sorted by key. */
static void put_rate(struct gpubpf_table *t, const struct picture *was, const struct picture *is, const struct row *row)
{
	double seconds = (double)(is->read_ns - was->read_ns) / 1e9, before, now = map_rate_number(row->entry);
	const struct row *old = bsearch(row, was->rows, was->n, sizeof(*row), by_key);

	before = old ? map_rate_number(old->entry) : 0;
	if (seconds > 0 && now >= before)
		gpubpf_table_cell(t, "%.1f", (now - before) / seconds);
	else
		gpubpf_table_cell(t, "-");
}

/* which columns a table has, apart from its members */
struct extra {
	bool has_keys, has_owners, has_backends, has_rates;
};

static void put_headings(const struct picture *p, const struct extra *extra, const struct map_columns *columns,
			 struct gpubpf_table *t)
{
	if (extra->has_owners)
		gpubpf_table_heading(t, "PROCESS/DEVICE");
	if (columns)
		map_columns_headings(columns, t);
	if (!columns && extra->has_keys)
		gpubpf_table_heading(t, "KEY");
	if (!columns)
		gpubpf_table_heading(t, get_member(p->rows[0].entry, "values") ? "SUM" : "VALUE");
	if (extra->has_rates)
		gpubpf_table_heading(t, "PER SECOND");
}

static void put_row(const struct row *row, const struct extra *extra, const struct map_columns *columns,
		    struct gpubpf_table *t)
{
	if (extra->has_owners)
		put_owner(t, row->entry, extra->has_backends);
	if (columns)
		map_columns_cells(columns, row->entry, t);
	if (!columns && extra->has_keys)
		put_text(t, get_json_text(get_member(row->entry, "key")));
	if (!columns)
		put_text(t, row->value);
}

/*
 * Print the first n rows with the columns of `map dump`. The column PROCESS/DEVICE appears if several devices have entries.
 * From the second picture on, the last column has the increase per second.
 */
static void put_table(struct picture *was, const struct picture *p, size_t n)
{
	struct extra extra = { .has_keys = get_member(p->rows[0].entry, "key"), .has_backends = has_several(p, "backend") };
	struct map_columns columns;
	struct gpubpf_table t = { 0 };
	bool has_columns;

	extra.has_owners = has_several(p, "process") || has_several(p, "device") || extra.has_backends;
	extra.has_rates = was->document && extra.has_keys;
	has_columns = map_columns_init(&columns, p->rows[0].entry, has_times(p), extra.has_owners + extra.has_rates);
	if (extra.has_rates)
		qsort(was->rows, was->n, sizeof(*was->rows), by_key);
	put_headings(p, &extra, has_columns ? &columns : NULL, &t);
	for (size_t i = 0; i < n; i++) {
		put_row(&p->rows[i], &extra, has_columns ? &columns : NULL, &t);
		if (extra.has_rates)
			put_rate(&t, was, p, &p->rows[i]);
	}
	gpubpf_table_print(&t, stdout);
	gpubpf_table_finish(&t);
}

/* Show the rows. On a terminal, redraw the screen; otherwise, append to the output. */
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
	if (n)
		put_table(was, p, n);
	else
		printf("  (empty)\n");
	if (!drawn)
		printf("\n");
}

/* -- map watch and map top -- */

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
