/* SPDX-License-Identifier: Apache-2.0 */
/* The columns in which `map top` and `map watch` draw entries: the members of keys and values, as in `map dump`. */
#ifndef GPUBPF_CLI_FIGURES_MAP_COLUMNS_H
#define GPUBPF_CLI_FIGURES_MAP_COLUMNS_H

#include "core/session/report/table.h"

struct json_object;

enum map_cell {
	MAP_CELL_VALUE,
	MAP_CELL_COUNT, /* the cells of a distribution { count, sum, quantiles } */
	MAP_CELL_SUM,
	MAP_CELL_MEAN,
	MAP_CELL_P50,
	MAP_CELL_P99,
};

struct map_columns {
	struct map_column {
		char heading[64];
		char path[128]; /* names of the members from the entry on, separated by '/' */
		enum map_cell cell;
	} column[GPUBPF_TABLE_COLUMNS];
	uint32_t n;
	bool is_ns; /* the amounts are nanoseconds */
};

/*
 * Derive the columns from an entry of the JSON dump. is_ns: the map has times. room: columns that the caller adds. Returns
 * false if the entry has no members, or needs more columns than a table has.
 */
bool map_columns_init(struct map_columns *c, struct json_object *entry, bool is_ns, uint32_t room);
void map_columns_headings(const struct map_columns *c, struct gpubpf_table *t);
void map_columns_cells(const struct map_columns *c, struct json_object *entry, struct gpubpf_table *t);
/*
 * Return the number by which an entry is sorted. It is the sum of its first distribution, else its first number. That may be
 * inside of another member.
 */
double map_order_number(struct json_object *entry);
/* Return the number whose rate is shown: the count of the first distribution, else the first number. */
double map_rate_number(struct json_object *entry);

#endif
