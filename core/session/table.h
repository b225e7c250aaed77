/* SPDX-License-Identifier: Apache-2.0 */
/* Text tables and histograms as users of bpftool and bpftrace know them. */
#ifndef GPUBPF_SESSION_TABLE_H
#define GPUBPF_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/duration.h"
#include "core/load/hist.h"

#define GPUBPF_TABLE_COLUMNS 10

struct gpubpf_table {
	uint32_t columns;
	uint32_t cells;
	size_t *cell, room;      /* [room]: where each begins in text, row after row, the heading first */
	char *text;              /* one behind the other, each with its end */
	size_t used, text_room;
	bool failed;             /* out of memory */
};

/* The heading: NULL ends. */
void gpubpf_table_init(struct gpubpf_table *t, const char *first, ...) __attribute__((sentinel));
/* The same, one by one, of a table that is all zeros. */
void gpubpf_table_heading(struct gpubpf_table *t, const char *heading);
/* The next cell. A tab or line end in it becomes a blank. */
void gpubpf_table_cell(struct gpubpf_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same of text as it is, and of a number: maps may have millions. */
void gpubpf_table_text(struct gpubpf_table *t, const char *text);
void gpubpf_table_number(struct gpubpf_table *t, uint64_t v, bool is_signed);
uint32_t gpubpf_table_rows(const struct gpubpf_table *t); /* without the heading */
/* Print with the columns aligned, those of numbers to the right; every line indented by two blanks. */
void gpubpf_table_print(const struct gpubpf_table *t, FILE *out);
void gpubpf_table_finish(struct gpubpf_table *t);

/* A histogram as bpftrace draws it, without leading and trailing empty slots, and a line of percentiles. */
void gpubpf_hist_print(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out);

#endif
