/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes maps as comma-separated values (RFC 4180). Each line has one value of an entry. The members of structs are columns.
 * A member is formatted as in the text report.
 */
#include "report.h"
#include "core/session/stacks/stacks.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 16384
#define MAX_LEAVES 48  /* columns of the key and of the value of one map; a larger struct is one column */
#define MAX_COLUMNS 512
#define MAX_DEPTH 8
#define MAX_STEPS 4096 /* types that find_leaves() looks at; structs without members could have any number */

#define NAME_SIZE 256

enum cell {
	CELL_WHOLE,
	CELL_COUNT, /* the numbers of a distribution */
	CELL_SUM,
	CELL_P50,
	CELL_P90,
	CELL_P99,
	CELLS,
};
static const char *const cell_names[CELLS] = {
	[CELL_COUNT] = "count", [CELL_SUM] = "sum", [CELL_P50] = "p50", [CELL_P90] = "p90", [CELL_P99] = "p99",
};

/* a member of a key or of a value that is one cell of a row */
struct leaf {
	uint32_t type, offset, size, column;
	enum cell cell;
	struct gpubpf_hist_shape shape; /* of a distribution */
};

struct rows {
	struct gpubpf_session *s;
	uint32_t map;
	const struct btf *btf;
	struct gpubpf_typed_names names;
	FILE *out;
	/*
	 * names of the columns of all maps: first the columns of keys, then of values. Each map fills some of the cells of a row.
	 */
	char *column[MAX_COLUMNS], *cell[MAX_COLUMNS];
	uint32_t nkeys, ncolumns;
	struct leaves {
		struct leaf leaf[MAX_LEAVES];
		uint32_t n, steps;
	} key_leaves, value_leaves;
	char value[TEXT_SIZE];
};

static const struct gpubpf_map *map_of(const struct rows *r)
{
	return &gpubpf_session_unit(r->s)->maps[r->map];
}

static void put_text(FILE *out, const char *text)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];

	if (quoted)
		fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	if (quoted)
		fputc('"', out);
}

static void put_field(FILE *out, const char *text, char end)
{
	put_text(out, text);
	fputc(end, out);
}

static void format_value(const struct rows *r, uint32_t type, const void *data, size_t size, char *text)
{
	bool is_signed, is_kernel = r->btf && (gpubpf_typed_is(r->btf, type, "gpubpf_kernel") ||
					       gpubpf_typed_is(r->btf, type, "gpubpf_kernel_index"));

	if (!is_kernel && gpubpf_btf_is_int(r->btf, type, size, &is_signed) && !gpubpf_btf_has_meaning(r->btf, type))
		snprintf(text, TEXT_SIZE, is_signed ? "%lld" : "%llu", (long long)gpubpf_int_read(data, size, is_signed));
	else if (gpubpf_typed_text(r->btf, type, &r->names, data, size, text, TEXT_SIZE) < 0)
		snprintf(text, TEXT_SIZE, "(%zu bytes)", size);
}

/* -- columns -- */

/*
 * Returns the struct type without typedefs, or NULL if the type is no struct. It is also NULL if the name starts with
 * gpubpf_, because such structs have their own format.
 */
static const struct btf_type *find_struct(const struct btf *btf, uint32_t type)
{
	uint32_t real = btf && type ? gpubpf_btf_strip(btf, type) : 0;
	const struct btf_type *t = real ? btf__type_by_id(btf, real) : NULL;
	const char *name = t && btf_is_struct(t) ? btf__name_by_offset(btf, t->name_off) : "gpubpf_";

	return name && !strncmp(name, "gpubpf_", 7) ? NULL : t;
}

/* Returns the column of this name, adding it if it is new. Returns -1 if the file has too many columns. */
static int find_or_add_column(struct rows *r, const char *name)
{
	for (uint32_t i = 0; i < r->ncolumns; i++)
		if (!strcmp(r->column[i], name))
			return (int)i;
	if (r->ncolumns == MAX_COLUMNS)
		return -1;
	r->column[r->ncolumns] = strdup(name);
	return r->column[r->ncolumns] ? (int)r->ncolumns++ : -1;
}

static bool add_leaf(struct rows *r, struct leaves *l, const char *name, const struct leaf *leaf)
{
	int column = l->n < MAX_LEAVES ? find_or_add_column(r, name) : -1;

	if (column < 0)
		return false;
	l->leaf[l->n] = *leaf;
	l->leaf[l->n++].column = (uint32_t)column;
	return true;
}

static bool join_names(char below[NAME_SIZE], const char *name, const char *member)
{
	return snprintf(below, NAME_SIZE, "%s.%s", name, member) < NAME_SIZE;
}

static bool add_amounts(struct rows *r, struct leaves *l, const char *name, struct leaf *leaf)
{
	char below[NAME_SIZE];
	bool added = true;

	for (leaf->cell = CELL_COUNT; leaf->cell < CELLS && added; leaf->cell++)
		added = join_names(below, name, cell_names[leaf->cell]) && add_leaf(r, l, below, leaf);
	return added;
}

/*
 * Add the columns of a type. A struct has the columns of its members, another type has one. The tool's own structs, such as a call
 * stack, are one column. Returns false if the type needs too many columns.
 */
static bool add_type(struct rows *r, struct leaves *l, const char *name, uint32_t type, uint32_t offset, uint32_t size,
		     int depth)
{
	const struct btf_type *t = find_struct(r->btf, type);
	struct leaf leaf = { .type = type, .offset = offset, .size = size };
	char below[NAME_SIZE];
	bool is_ns, added = depth < MAX_DEPTH;

	/* a loader chooses the type and the size of a map's values separately */
	if (++l->steps > MAX_STEPS || gpubpf_typed_size(r->btf, type) > (int64_t)size)
		return false;
	if (r->btf && type && gpubpf_amounts_type(r->btf, type, &leaf.shape, &is_ns))
		return add_amounts(r, l, name, &leaf);
	if (!t)
		return add_leaf(r, l, name, &leaf);
	for (uint32_t i = 0; i < btf_vlen(t) && added; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *member = btf__name_by_offset(r->btf, m->name_off);
		int64_t bytes = gpubpf_typed_size(r->btf, m->type);
		uint32_t at = btf_member_bit_offset(t, i) / 8;

		if (btf_member_bitfield_size(t, i) || !member || !member[0] || bytes < 0 || at > size ||
		    (uint64_t)bytes > size - at || !join_names(below, name, member))
			return false;
		added = add_type(r, l, below, m->type, offset + at, (uint32_t)bytes, depth + 1);
	}
	return added;
}

/* Determine the columns of a key or a value. If its members cannot be columns, it is one column. */
static void find_leaves(struct rows *r, struct leaves *l, const char *name, uint32_t type, uint32_t size)
{
	const struct leaf whole = { .type = type, .size = size };
	uint32_t ncolumns = r->ncolumns;

	l->n = l->steps = 0;
	if (add_type(r, l, name, type, 0, size, 0))
		return;
	while (r->ncolumns > ncolumns)
		free(r->column[--r->ncolumns]);
	l->n = 0;
	add_leaf(r, l, name, &whole);
}

static void find_columns(struct rows *r)
{
	const struct gpubpf_map *map = map_of(r);
	bool is_plain = map->global_data || gpubpf_map_holds_objects(map) || map->type->flags & GPUBPF_MAP_STACKS;

	r->key_leaves.n = r->value_leaves.n = 0;
	find_leaves(r, &r->key_leaves, "key", map->key_size ? map->btf_key : 0, map->key_size);
	find_leaves(r, &r->value_leaves, "value", is_plain ? 0 : map->btf_value, map->value_size);
}

/* -- rows -- */

static uint64_t read_amount(const struct leaf *leaf, const uint8_t *data)
{
	static const uint32_t percent[CELLS] = { [CELL_P50] = 50, [CELL_P90] = 90, [CELL_P99] = 99 };
	uint64_t sum = gpubpf_int_read(data + 8, 8, false), slot[GPUBPF_HIST_SLOTS] = { 0 };

	if (leaf->cell == CELL_COUNT)
		return gpubpf_int_read(data, 8, false);
	if (leaf->cell == CELL_SUM)
		return sum;
	gpubpf_hist_add(&leaf->shape, data, slot);
	return gpubpf_amounts_percentile(&leaf->shape, slot, sum, percent[leaf->cell]);
}

static void set_cell(struct rows *r, uint32_t column, const char *text)
{
	free(r->cell[column]);
	r->cell[column] = strdup(text);
}

/* Format the members of a key or a value into their cells. */
static void set_cells(struct rows *r, const struct leaves *l, const uint8_t *data)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct leaf *leaf = &l->leaf[i];

		if (leaf->cell == CELL_WHOLE)
			format_value(r, leaf->type, data + leaf->offset, leaf->size, r->value);
		else
			snprintf(r->value, TEXT_SIZE, "%llu", (unsigned long long)read_amount(leaf, data + leaf->offset));
		set_cell(r, leaf->column, r->value);
	}
}

static void clear_cells(struct rows *r)
{
	for (uint32_t i = 0; i < r->ncolumns; i++) {
		free(r->cell[i]);
		r->cell[i] = NULL;
	}
}

/*
 * Write the cells as one line. `copy` is the number of the multiprocessor or thread to which the value belongs, or -1 if the
 * entry has a single value.
 */
static void put_row(struct rows *r, const struct gpubpf_entry *entry, int64_t copy)
{
	const struct gpubpf_session_arena *a = entry->arena < 0 ? NULL : gpubpf_arena_at(r->s, entry->arena);

	put_field(r->out, map_of(r)->name, ',');
	if (a)
		fprintf(r->out, "%u,%s,%u,", a->process, a->backend, a->device);
	else
		fprintf(r->out, ",,,");
	for (uint32_t i = 0; i < r->nkeys; i++)
		put_field(r->out, r->cell[i] ? r->cell[i] : "", ',');
	if (copy >= 0)
		fprintf(r->out, "%lld", (long long)copy);
	for (uint32_t i = r->nkeys; i < r->ncolumns; i++) {
		fputc(',', r->out);
		put_text(r->out, r->cell[i] ? r->cell[i] : "");
	}
	fputc('\n', r->out);
	clear_cells(r);
}

/* Returns the only column of a key or value that is not split into members. */
static uint32_t add_whole_column(const struct leaves *l)
{
	return l->n ? l->leaf[0].column : 0;
}

static void put_variables(struct rows *r, const struct gpubpf_entry *entry)
{
	struct gpubpf_variable var;

	for (uint32_t i = 0; gpubpf_variable_at(r->btf, map_of(r), i, &var); i++) {
		set_cell(r, add_whole_column(&r->key_leaves), var.name);
		format_value(r, var.type, (const uint8_t *)entry->value + var.offset, var.size, r->value);
		set_cell(r, add_whole_column(&r->value_leaves), r->value);
		put_row(r, entry, -1);
	}
}

static void set_key(struct rows *r, const struct gpubpf_entry *entry)
{
	const struct gpubpf_map *map = map_of(r);
	uint32_t index;

	if (map->type->flags & GPUBPF_MAP_U32KEY && !map->btf_key) {
		memcpy(&index, entry->key, sizeof(index));
		snprintf(r->value, sizeof(r->value), "%u", index);
		set_cell(r, add_whole_column(&r->key_leaves), r->value);
	} else if (map->key_size) {
		set_cells(r, &r->key_leaves, entry->key);
	}
}

static void set_value(struct rows *r, const struct gpubpf_entry *entry)
{
	const struct gpubpf_map *map = map_of(r);
	const struct gpubpf_stack *stack;

	r->value[0] = 0;
	if (gpubpf_map_holds_objects(map)) {
		set_cell(r, add_whole_column(&r->value_leaves), gpubpf_entry_object_name(map, entry->value));
	} else if (map->type->flags & GPUBPF_MAP_STACKS) {
		stack = gpubpf_stack_by_key(map, entry->key);
		if (stack)
			gpubpf_stack_line(r->s, stack, true, r->value, sizeof(r->value));
		set_cell(r, add_whole_column(&r->value_leaves), r->value);
	} else {
		set_cells(r, &r->value_leaves, entry->value);
	}
}

/*
 * Write a line for each value of the entry, or for each variable of global data. Like the text report, omit zeros of
 * arrays and of entries with several values.
 */
static int put_entry(void *arg, const struct gpubpf_entry *entry)
{
	struct rows *r = arg;
	const struct gpubpf_map *map = map_of(r);
	bool several = entry->copies > 1 || gpubpf_map_omits_zeros(map);

	if (map->global_data && map->btf_value) {
		put_variables(r, entry);
		return 0;
	}
	for (uint32_t i = 0; i < entry->copies; i++) {
		struct gpubpf_entry one = *entry;

		one.value = (const uint8_t *)entry->value + i * entry->stride;
		one.value_size = map->value_size;
		one.copies = 1;
		if (several && gpubpf_entry_is_zero(&one))
			continue;
		set_key(r, &one);
		set_value(r, &one);
		put_row(r, &one, map->type->flags & GPUBPF_MAP_COPIES ? (int64_t)i : -1);
	}
	return 0;
}

/* Select map number i. Returns false if the file leaves it out. */
static bool select_map(struct rows *r, uint32_t i, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(r->s)->maps[i];

	r->map = i;
	r->btf = gpubpf_map_btf(r->s, i);
	return gpubpf_report_includes_map(opts, map) && !gpubpf_map_is_not_iterable(map);
}

/* Collect the columns of all maps: first the columns of keys, then of values. */
static void collect_columns(struct rows *r, const struct gpubpf_report_opts *opts)
{
	uint32_t n = gpubpf_session_unit(r->s)->nmaps;

	find_or_add_column(r, "key");
	for (uint32_t i = 0; i < n; i++)
		if (select_map(r, i, opts))
			find_leaves(r, &r->key_leaves, "key", map_of(r)->key_size ? map_of(r)->btf_key : 0,
				    map_of(r)->key_size);
	r->nkeys = r->ncolumns;
	find_or_add_column(r, "value");
	for (uint32_t i = 0; i < n; i++)
		if (select_map(r, i, opts))
			find_columns(r);
}

static void put_headings(struct rows *r)
{
	fprintf(r->out, "map,process,backend,device,");
	for (uint32_t i = 0; i < r->nkeys; i++)
		put_field(r->out, r->column[i], ',');
	fprintf(r->out, "copy");
	for (uint32_t i = r->nkeys; i < r->ncolumns; i++) {
		fputc(',', r->out);
		put_text(r->out, r->column[i]);
	}
	fputc('\n', r->out);
}

int gpubpf_report_csv(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	struct rows *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	*r = (struct rows){ .s = s, .out = out, .names = gpubpf_session_names(s, opts) };
	collect_columns(r, opts);
	put_headings(r);
	for (uint32_t i = 0; i < gpubpf_session_unit(s)->nmaps && !err; i++) {
		if (!select_map(r, i, opts))
			continue;
		find_columns(r);
		err = gpubpf_entries_walk(s, i, put_entry, r);
	}
	for (uint32_t i = 0; i < r->ncolumns; i++)
		free(r->column[i]);
	free(r);
	return err;
}
