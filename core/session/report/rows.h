/* SPDX-License-Identifier: Apache-2.0 */
/* Maps whose values are shown as table rows because of their type (GPUBPF_ROW, struct gpubpf_amounts, struct
 * gpubpf_times). */
#ifndef GPUBPF_SESSION_ROWS_H
#define GPUBPF_SESSION_ROWS_H

#include "core/session/maps/entries.h"
#include "table.h"

struct gpubpf_row_column {
	char name[64];
	uint32_t type, offset, size; /* in the key, or in the value */
	bool amounts, ns;            /* amounts: a struct gpubpf_amounts, shown in several columns. ns: in
				      * nanoseconds */
	struct gpubpf_hist_shape shape; /* of amounts */
};

struct gpubpf_rows {
	struct gpubpf_row_column column[GPUBPF_TABLE_COLUMNS];
	uint32_t nkeys, ncolumns;    /* the first nkeys belong to the key */
	const struct btf *btf;
	uint32_t key_size, value_size;
	int order;                   /* column to sort by; -1: the map's order */
	uint64_t sum;                /* of that column over all rows */
	struct gpubpf_row {
		uint8_t *data;       /* key, then value */
		int arena;
	} *row;
	uint32_t n, room;
};

/* Does the map's type make rows, and do they fit into a table? Then *rows is ready for the map's entries; else it is
 * empty. */
bool gpubpf_rows_init(struct gpubpf_rows *rows, const struct btf *btf, const struct gpubpf_map *map);
void gpubpf_rows_finish(struct gpubpf_rows *rows);
/* Does it have times of launches, blocks or threads? These are longer in a probed kernel. */
bool gpubpf_rows_has_times(const struct gpubpf_rows *rows);
/* Copy an entry. 0, -ENOMEM. */
int gpubpf_rows_add(struct gpubpf_rows *rows, const struct gpubpf_entry *entry);
/* The largest first. */
void gpubpf_rows_sort(struct gpubpf_rows *rows);

const uint8_t *gpubpf_row_data(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			       const struct gpubpf_row_column *column);
/* second: a heading between the columns of the key and of the value, or NULL */
void gpubpf_rows_headings(const struct gpubpf_rows *rows, const char *second, struct gpubpf_table *t);
/* Add the cells of an amounts column. */
void gpubpf_rows_amounts(const struct gpubpf_rows *rows, const struct gpubpf_row *row,
			 const struct gpubpf_row_column *column, struct gpubpf_table *t);

#endif
