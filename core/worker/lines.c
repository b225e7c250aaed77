/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>

struct gpubpf_line_row {
	uint64_t address;
	uint32_t line;                 /* from here on, up to the next row; 0: none */
	uint32_t order;                /* in the tables */
};

/* Of two rows at one address the later one holds, but the end of what came before never does. */
static int compare(const void *a, const void *b)
{
	const struct gpubpf_line_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->line != !y->line)
		return x->line ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_table(struct gpubpf_lines *lines, Dwarf_Lines *table, size_t n)
{
	struct gpubpf_line_row *rows = n < UINT32_MAX - lines->n ? realloc(lines->rows, (lines->n + n) * sizeof(*rows)) : NULL;

	if (!rows)
		return;
	lines->rows = rows;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(table, i);
		bool end = false;
		Dwarf_Addr address;
		int line;

		if (dwarf_lineaddr(row, &address) || dwarf_lineno(row, &line) || dwarf_lineendsequence(row, &end))
			continue;
		lines->rows[lines->n] = (struct gpubpf_line_row){ address, end ? 0 : line, lines->n };
		lines->n++;
	}
}

static void add_tables(struct gpubpf_lines *lines, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	Dwarf_Lines *table;
	Dwarf_CU *unit = NULL;
	size_t n;

	while (!dwarf_next_lines(dwarf, at, &next, &unit, NULL, NULL, &table, &n) && next > at) {
		if (n)
			add_table(lines, table, n);
		at = next;
	}
	if (lines->n)
		qsort(lines->rows, lines->n, sizeof(*lines->rows), compare);
}

void gpubpf_lines_read(const void *image, size_t size, struct gpubpf_lines *lines)
{
	Dwarf *dwarf;
	Elf *elf;

	*lines = (struct gpubpf_lines){ 0 };
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, size);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf)
		add_tables(lines, dwarf);
	dwarf_end(dwarf);
	elf_end(elf);
}

uint32_t gpubpf_lines_at(const struct gpubpf_lines *lines, uint64_t address)
{
	size_t from = 0, to = lines->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (lines->rows[middle].address <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? lines->rows[from - 1].line : 0;
}

void gpubpf_lines_finish(struct gpubpf_lines *lines)
{
	free(lines->rows);
	*lines = (struct gpubpf_lines){ 0 };
}
