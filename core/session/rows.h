/* SPDX-License-Identifier: Apache-2.0 */
/* Maps whose values, by their type (GPUBPF_ROW, struct gpubpf_amounts and gpubpf_times), are rows of a table. */
#ifndef GPUBPF_SESSION_ROWS_H
#define GPUBPF_SESSION_ROWS_H

#include "entries.h"
#include "table.h"

struct gpubpf_row_column {
	char name[64];
	uint32_t type, offset, size; /* in the key, or in the value */
	bool amounts, ns;            /* struct gpubpf_amounts: several columns of the table, of nanoseconds */
	struct gpubpf_hist_shape shape; /* of amounts */
};

struct gpubpf_rows {
	struct gpubpf_row_column column[GPUBPF_TABLE_COLUMNS];
	uint32_t nkeys, ncolumns;    /* the first nkeys are the key's */
	const struct btf *btf;
	uint32_t key_size, value_size;
	int order;                   /* column by which rows are in order; -1: as the map has them */
	uint64_t sum;                /* of the order's amounts over all rows */
	struct gpubpf_row {
		uint8_t *data;       /* key, then value */
		int arena;
	} *row;
	uint32_t n, room;
};

/* Is the map of that kind, and has room in a table? Then *rows is ready for its entries; else it is empty. */
bool gpubpf_rows_init(struct gpubpf_rows *rows, const struct btf *btf, const struct gpubpf_map *map);
void gpubpf_rows_finish(struct gpubpf_rows *rows);
/* Has it times of launches, blocks or threads? A probed kernel takes longer. */
bool gpubpf_rows_timed(const struct gpubpf_rows *rows);
/* Keep an entry. 0, -ENOMEM. */
int gpubpf_rows_add(struct gpubpf_rows *rows, const struct gpubpf_entry *entry);
/* The largest first. */
void gpubpf_rows_sort(struct gpubpf_rows *rows);

const uint8_t *gpubpf_row_data(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			       const struct gpubpf_row_column *column);
/* second: a heading between those of the key and those of the value; NULL none */
void gpubpf_rows_headings(const struct gpubpf_rows *rows, const char *second, struct gpubpf_table *t);
/* The cells of a column that is amounts. */
void gpubpf_rows_amounts(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			 const struct gpubpf_row_column *column, struct gpubpf_table *t);

#endif
