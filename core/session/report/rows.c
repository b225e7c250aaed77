/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNTS_CELLS 6 /* columns of a struct gpubpf_amounts: count, sum, mean, median, 99th percentile, share */

/* -- columns from types -- */

static bool has_tag(const struct btf *btf, uint32_t type, const char *tag)
{
	uint32_t n = btf__type_cnt(btf);

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *name = btf_is_decl_tag(t) ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (name && !strcmp(name, tag) && t->type == type && btf_decl_tag(t)->component_idx == -1)
			return true;
	}
	return false;
}

static bool add_column(struct gpubpf_rows *rows, const char *name, uint32_t type, uint64_t offset, uint32_t within)
{
	int64_t size = gpubpf_typed_size(rows->btf, type);
	struct gpubpf_row_column *c = &rows->column[rows->ncolumns];
	size_t i;

	if (size < 0 || offset > within || (uint64_t)size > within - offset || rows->ncolumns == GPUBPF_TABLE_COLUMNS)
		return false;
	*c = (struct gpubpf_row_column){ .type = type, .offset = offset, .size = size };
	for (i = 0; name[i] && i < sizeof(c->name) - 1; i++)
		c->name[i] = name[i] == '_' ? ' ' : toupper((unsigned char)name[i]);
	c->amounts = gpubpf_amounts_type(rows->btf, type, &c->shape, &c->ns);
	rows->ncolumns++;
	return true;
}

static bool add_members(struct gpubpf_rows *rows, uint32_t type, uint32_t within)
{
	const struct btf_type *t = btf__type_by_id(rows->btf, type);

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(rows->btf, m->name_off);
		uint32_t bit = btf_member_bit_offset(t, i);

		if (btf_member_bitfield_size(t, i) || bit % 8 || !name || !name[0] ||
		    !add_column(rows, name, m->type, bit / 8, within))
			return false;
	}
	return btf_vlen(t) > 0;
}

/*
 * Returns the struct type without typedefs. Returns 0 if the type is not a struct, or if its name starts with gpubpf_,
 * because such structs have their own format.
 */
static uint32_t user_struct(const struct btf *btf, uint32_t type)
{
	uint32_t real = gpubpf_btf_strip(btf, type);
	const struct btf_type *t = real ? btf__type_by_id(btf, real) : NULL;
	const char *name = t && btf_is_struct(t) ? btf__name_by_offset(btf, t->name_off) : "gpubpf_";

	return name && !strncmp(name, "gpubpf_", 7) ? 0 : real;
}

static bool add_key(struct gpubpf_rows *rows, const struct gpubpf_map *map)
{
	uint32_t type = user_struct(rows->btf, map->btf_key);
	bool kernel = gpubpf_typed_is(rows->btf, map->btf_key, "gpubpf_kernel") ||
		      gpubpf_typed_is(rows->btf, map->btf_key, "gpubpf_kernel_index");
	bool added = type ? add_members(rows, type, map->key_size) :
			    add_column(rows, kernel ? "kernel" : "key", map->btf_key, 0, map->key_size);

	rows->nkeys = rows->ncolumns;
	return added;
}

static bool add_value(struct gpubpf_rows *rows, const struct gpubpf_map *map)
{
	uint32_t type = gpubpf_btf_strip(rows->btf, map->btf_value);
	struct gpubpf_hist_shape shape;
	bool ns;

	if (gpubpf_amounts_type(rows->btf, map->btf_value, &shape, &ns))
		return add_column(rows, "count", map->btf_value, 0, map->value_size);
	return type && btf_is_struct(btf__type_by_id(rows->btf, type)) && has_tag(rows->btf, type, "gpubpf:row") &&
	       add_members(rows, type, map->value_size);
}

/*
 * Returns the index of the column by which rows are sorted: the first column of amounts, else the first number in the
 * value. -1: none.
 */
static int find_order(const struct gpubpf_rows *rows)
{
	bool is_signed;

	for (uint32_t i = rows->nkeys; i < rows->ncolumns; i++)
		if (rows->column[i].amounts)
			return i;
	for (uint32_t i = rows->nkeys; i < rows->ncolumns; i++)
		if (gpubpf_btf_is_int(rows->btf, rows->column[i].type, rows->column[i].size, &is_signed) &&
		    !gpubpf_btf_has_meaning(rows->btf, rows->column[i].type))
			return i;
	return -1;
}

static uint32_t count_cells(const struct gpubpf_rows *rows)
{
	uint32_t n = 1; /* the column of the process and device */

	for (uint32_t i = 0; i < rows->ncolumns; i++)
		n += rows->column[i].amounts ? AMOUNTS_CELLS : 1;
	return n;
}

bool gpubpf_rows_init(struct gpubpf_rows *rows, const struct btf *btf, const struct gpubpf_map *map)
{
	*rows = (struct gpubpf_rows){ .btf = btf, .key_size = map->key_size, .value_size = map->value_size };
	if (!btf || !map->btf_key || !map->btf_value || !(map->type->flags & GPUBPF_MAP_KEYED) ||
	    map->type->flags & GPUBPF_MAP_COPIES || map->global_data || !add_key(rows, map) || !add_value(rows, map) ||
	    count_cells(rows) > GPUBPF_TABLE_COLUMNS)
		return false;
	rows->order = map->type->flags & GPUBPF_MAP_ORDERED ? -1 : find_order(rows);
	return true;
}

bool gpubpf_rows_has_times(const struct gpubpf_rows *rows)
{
	for (uint32_t i = rows->nkeys; i < rows->ncolumns; i++)
		if (rows->column[i].amounts && rows->column[i].ns)
			return true;
	return false;
}

/* -- entries -- */

const uint8_t *gpubpf_row_data(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			       const struct gpubpf_row_column *column)
{
	bool of_value = column >= &rows->column[rows->nkeys];

	return row->data + (of_value ? rows->key_size : 0) + column->offset;
}

/* Returns the row's value in the column by which rows are sorted. */
static uint64_t sort_value(const struct gpubpf_rows *rows, const struct gpubpf_row *row)
{
	const struct gpubpf_row_column *c = &rows->column[rows->order];
	const uint8_t *data = gpubpf_row_data(rows, row, c);

	return c->amounts ? gpubpf_int_read(data + 8, 8, false) : gpubpf_int_read(data, c->size, false);
}

int gpubpf_rows_add(struct gpubpf_rows *rows, const struct gpubpf_entry *entry)
{
	struct gpubpf_row *row;

	if (rows->n == rows->room) {
		uint32_t room = rows->room ? rows->room * 2 : 64;

		row = reallocarray(rows->row, room, sizeof(*row));
		if (!row)
			return -ENOMEM;
		rows->row = row;
		rows->room = room;
	}
	row = &rows->row[rows->n];
	row->arena = entry->arena;
	row->data = malloc((size_t)rows->key_size + rows->value_size);
	if (!row->data)
		return -ENOMEM;
	memcpy(row->data, entry->key, rows->key_size);
	memcpy(row->data + rows->key_size, entry->value, rows->value_size);
	rows->n++;
	return 0;
}

static int compare_rows(const void *a, const void *b, void *rows)
{
	uint64_t x = sort_value(rows, a), y = sort_value(rows, b);

	return x > y ? -1 : x < y;
}

void gpubpf_rows_sort(struct gpubpf_rows *rows)
{
	rows->sum = 0;
	if (rows->order < 0)
		return;
	for (uint32_t i = 0; i < rows->n; i++)
		rows->sum += sort_value(rows, &rows->row[i]);
	qsort_r(rows->row, rows->n, sizeof(*rows->row), compare_rows, rows);
}

void gpubpf_rows_finish(struct gpubpf_rows *rows)
{
	for (uint32_t i = 0; i < rows->n; i++)
		free(rows->row[i].data);
	free(rows->row);
	rows->row = NULL;
	rows->n = rows->room = 0;
}

/* -- as text -- */

void gpubpf_rows_headings(const struct gpubpf_rows *rows, const char *second, struct gpubpf_table *t)
{
	static const char *const more[AMOUNTS_CELLS - 1] = { "SUM", "MEAN", "P50", "P99", "SHARE" };

	for (uint32_t i = 0; i < rows->ncolumns; i++) {
		if (i == rows->nkeys && second)
			gpubpf_table_heading(t, second);
		gpubpf_table_heading(t, rows->column[i].name);
		for (size_t k = 0; rows->column[i].amounts && k < AMOUNTS_CELLS - 1; k++)
			gpubpf_table_heading(t, more[k]);
	}
}

static void put_amount(const struct gpubpf_row_column *column, uint64_t v, struct gpubpf_table *t)
{
	char text[24];

	if (column->ns)
		gpubpf_table_cell(t, "%s", gpubpf_duration(v, text));
	else
		gpubpf_table_cell(t, "%llu", (unsigned long long)v);
}

void gpubpf_rows_amounts(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			 const struct gpubpf_row_column *column, struct gpubpf_table *t)
{
	const uint8_t *data = gpubpf_row_data(rows, row, column);
	uint64_t count = gpubpf_int_read(data, 8, false), sum = gpubpf_int_read(data + 8, 8, false);
	uint64_t slot[GPUBPF_HIST_SLOTS] = { 0 };

	gpubpf_hist_add(&column->shape, data, slot);
	gpubpf_table_cell(t, "%llu", (unsigned long long)count);
	put_amount(column, sum, t);
	put_amount(column, count ? sum / count : 0, t);
	put_amount(column, gpubpf_amounts_percentile(&column->shape, slot, sum, 50), t);
	put_amount(column, gpubpf_amounts_percentile(&column->shape, slot, sum, 99), t);
	if (column == &rows->column[rows->order] && rows->sum)
		gpubpf_table_cell(t, "%.1f %%", 100.0 * sum / rows->sum);
	else
		gpubpf_table_cell(t, "-");
}
