/* SPDX-License-Identifier: Apache-2.0 */
/* Text tables like bpftool's, and histograms like bpftrace's. */
#ifndef GPUBPF_SESSION_TABLE_H
#define GPUBPF_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/model/duration.h"
#include "core/load/typed/hist.h"

#define GPUBPF_TABLE_COLUMNS 10

struct gpubpf_table {
	uint32_t columns;
	uint32_t cells;
	size_t *cell, room; /* [room]: the offset of each cell in text, row by row, the heading first */
	char *text;         /* the cells one after the other, each with its NUL */
	size_t used, text_room;
	bool failed; /* out of memory */
};

/* Start a table with these headings; NULL ends them. */
void gpubpf_table_init(struct gpubpf_table *t, const char *first, ...) __attribute__((sentinel));
/* Add one heading to a table that was zero-initialized instead of using gpubpf_table_init(). */
void gpubpf_table_heading(struct gpubpf_table *t, const char *heading);
/* Add the next cell. A tab or newline in it becomes a blank. */
void gpubpf_table_cell(struct gpubpf_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Add a text or a number as a cell, faster than gpubpf_table_cell(), since maps may have millions of entries. */
void gpubpf_table_text(struct gpubpf_table *t, const char *text);
void gpubpf_table_number(struct gpubpf_table *t, uint64_t v, bool is_signed);
uint32_t gpubpf_table_rows(const struct gpubpf_table *t); /* without the heading */
/* Print with aligned columns, numbers to the right, every line indented by two blanks. */
void gpubpf_table_print(const struct gpubpf_table *t, FILE *out);
void gpubpf_table_finish(struct gpubpf_table *t);

/* Print a histogram in bpftrace's format, without empty slots at both ends, and a line of percentiles. */
void gpubpf_hist_print(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out);

#endif
