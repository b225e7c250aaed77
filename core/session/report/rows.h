/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a map as a table whose columns are the members of its keys and values. A map has such a table if the type of
 * its values is tagged GPUBPF_ROW, or is struct gpubpf_amounts or struct gpubpf_times.
 */
#ifndef GPUBPF_SESSION_ROWS_H
#define GPUBPF_SESSION_ROWS_H

#include "core/session/maps/entries.h"
#include "table.h"

struct gpubpf_row_column {
	char name[64];
	uint32_t type, offset, size; /* of the column's member in the key or in the value */
	/* The member is a struct gpubpf_amounts, which has several columns. The values are in nanoseconds. */
	bool amounts, ns;
	struct gpubpf_hist_shape shape; /* shape of the histogram in the struct gpubpf_amounts */
};

struct gpubpf_rows {
	struct gpubpf_row_column column[GPUBPF_TABLE_COLUMNS];
	uint32_t nkeys, ncolumns; /* the first nkeys columns are members of the key */
	const struct btf *btf;
	uint32_t key_size, value_size;
	int order;    /* index of the column to sort by; -1: keep the map's order */
	uint64_t sum; /* sum over all rows of the column to sort by */
	struct gpubpf_row {
		uint8_t *data; /* key, then value */
		int arena;
	} *row;
	uint32_t n, room;
};

/*
 * Prepare *rows for the map's entries. Returns false, with *rows empty, if the map's types cannot be shown as rows, or
 * would need too many columns.
 */
bool gpubpf_rows_init(struct gpubpf_rows *rows, const struct btf *btf, const struct gpubpf_map *map);
void gpubpf_rows_finish(struct gpubpf_rows *rows);
/*
 * Returns true if a column has times of launches, blocks or threads. Then the report warns that probes make them
 * longer.
 */
bool gpubpf_rows_has_times(const struct gpubpf_rows *rows);
/* Add a copy of the entry as a row. Returns 0 or -ENOMEM. */
int gpubpf_rows_add(struct gpubpf_rows *rows, const struct gpubpf_entry *entry);
/* Sort the rows by the column `order`, largest value first. */
void gpubpf_rows_sort(struct gpubpf_rows *rows);

const uint8_t *gpubpf_row_data(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			       const struct gpubpf_row_column *column);
/* Add the headings to the table. second: a heading between the columns of the key and of the value, or NULL. */
void gpubpf_rows_headings(const struct gpubpf_rows *rows, const char *second, struct gpubpf_table *t);
/* Add the cells of an amounts column of the row to the table. */
void gpubpf_rows_amounts(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			 const struct gpubpf_row_column *column, struct gpubpf_table *t);

#endif
