/* SPDX-License-Identifier: Apache-2.0 */
/* Maps whose values are shown as table rows because of their type (GPUBPF_ROW, struct gpubpf_amounts, struct
 * gpubpf_times). */
#ifndef GPUBPF_SESSION_ROWS_H
#define GPUBPF_SESSION_ROWS_H

#include "core/session/maps/entries.h"
#include "table.h"

struct gpubpf_row_column {
	char name[64];
	uint32_t type, offset, size;    /* in the key, or in the value */
	bool amounts, ns;               /* amounts: the member is a struct gpubpf_amounts, shown in several columns. ns:
				      * the value is in nanoseconds */
	struct gpubpf_hist_shape shape; /* shape of the histogram in amounts */
};

struct gpubpf_rows {
	struct gpubpf_row_column column[GPUBPF_TABLE_COLUMNS];
	uint32_t nkeys, ncolumns; /* the first nkeys belong to the key */
	const struct btf *btf;
	uint32_t key_size, value_size;
	int order;    /* column to sort by; -1: the map's order */
	uint64_t sum; /* sum of the column `order` over all rows */
	struct gpubpf_row {
		uint8_t *data; /* key, then value */
		int arena;
	} *row;
	uint32_t n, room;
};

/* Prepares *rows for the map's entries if its types make table rows that fit into a table. Otherwise returns false,
 * with *rows empty. */
bool gpubpf_rows_init(struct gpubpf_rows *rows, const struct btf *btf, const struct gpubpf_map *map);
void gpubpf_rows_finish(struct gpubpf_rows *rows);
/* Does a column have times of launches, blocks or threads? Then the report warns that probes make them longer. */
bool gpubpf_rows_has_times(const struct gpubpf_rows *rows);
/* Copy an entry. 0, -ENOMEM. */
int gpubpf_rows_add(struct gpubpf_rows *rows, const struct gpubpf_entry *entry);
/* Sort the rows by the column `order`, the largest value first. */
void gpubpf_rows_sort(struct gpubpf_rows *rows);

const uint8_t *gpubpf_row_data(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			       const struct gpubpf_row_column *column);
/* second: a heading between the columns of the key and of the value, or NULL */
void gpubpf_rows_headings(const struct gpubpf_rows *rows, const char *second, struct gpubpf_table *t);
/* Add the cells of an amounts column of the row to the table. */
void gpubpf_rows_amounts(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			 const struct gpubpf_row_column *column, struct gpubpf_table *t);

#endif
