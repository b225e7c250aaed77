/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text tables in the style of bpftool, and histograms in the style of bpftrace. */
#ifndef GPUBPF_SESSION_TABLE_H
#define GPUBPF_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/model/text/duration.h"
#include "core/load/typed/hist.h"

#define GPUBPF_TABLE_COLUMNS 10

struct gpubpf_table {
	uint32_t columns;
	uint32_t cells;
	/* [room]: offset in `text` of each cell. The cells of the heading come first, then the rows */
	size_t *cell, room;
	char *text; /* texts of all cells, each with its NUL */
	size_t used, text_room;
	bool failed; /* out of memory */
};

/* Start a table with these headings; NULL ends them. */
void gpubpf_table_init(struct gpubpf_table *t, const char *first, ...) __attribute__((sentinel));
/* Add one heading. Use it on a zero-initialized table, instead of gpubpf_table_init(). */
void gpubpf_table_heading(struct gpubpf_table *t, const char *heading);
/* Add the next cell. A tab or newline in the text becomes a blank. */
void gpubpf_table_cell(struct gpubpf_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Add a text or a number as a cell. These functions are faster than gpubpf_table_cell(), which matters because maps may
 * have millions of entries.
 */
void gpubpf_table_text(struct gpubpf_table *t, const char *text);
void gpubpf_table_number(struct gpubpf_table *t, uint64_t v, bool is_signed);
uint32_t gpubpf_table_rows(const struct gpubpf_table *t); /* without the heading */
/* Print the table with aligned columns. Numbers are aligned to the right, and every line is indented by two blanks. */
void gpubpf_table_print(const struct gpubpf_table *t, FILE *out);
void gpubpf_table_finish(struct gpubpf_table *t);

/* Print a histogram in bpftrace's format, and a line of percentiles. Empty slots at both ends are omitted. */
void gpubpf_hist_print(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out);

#endif
