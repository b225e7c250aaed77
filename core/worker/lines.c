/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

struct gpubpf_line_row {
	uint64_t address;
	uint32_t line;  /* source line of the code from this address to the next row; 0: none */
	uint32_t order; /* number of the row in the order in which it was read */
	uint32_t file;  /* index in files[] + 1; 0: no statement starts at this row, or starts are not recorded */
	uint64_t copy;  /* offset in the debug information of the inlined function that contains the row; 0: none */
};

/*
 * Sorts rows by address. Among rows with the same address, rows that end a sequence come first, then the others in the
 * order of reading. The last row of an address is the valid one.
 */
static int compare(const void *a, const void *b)
{
	const struct gpubpf_line_row *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->line != !y->line)
		return x->line ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the file's index in lines->files + 1, and adds the file if it is new. Returns 0 if memory runs out. */
static uint32_t file_number(struct gpubpf_lines *lines, const char *path)
{
	char **grown;

	for (size_t i = lines->nfiles; path && i-- > 0;)
		if (!strcmp(lines->files[i], path))
			return i + 1;
	grown = path ? realloc(lines->files, (lines->nfiles + 1) * sizeof(*grown)) : NULL;
	if (!grown)
		return 0;
	lines->files = grown;
	grown[lines->nfiles] = strdup(path);
	return grown[lines->nfiles] ? ++lines->nfiles : 0;
}

/*
 * Returns the offset in the debug information of the innermost inlined function at an address, or 0 if there is none.
 */
static uint64_t copy_at(Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Die *scopes = NULL;
	uint64_t copy = 0;
	int n = dwarf_getscopes(unit, address, &scopes);

	for (int i = 0; !copy && i < n; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			copy = dwarf_dieoffset(&scopes[i]);
	free(scopes);
	return copy;
}

static void add_start(struct gpubpf_lines *lines, struct gpubpf_line_row *to, Dwarf_Line *row, Dwarf_Die *unit)
{
	bool statement = false;

	if (!to->line || dwarf_linebeginstatement(row, &statement) || !statement)
		return;
	to->file = file_number(lines, dwarf_linesrc(row, NULL, NULL));
	to->copy = unit ? copy_at(unit, to->address) : 0;
}

/*
 * Adds the rows of a line table. With `starts`, also records the files and inlined functions in which statements start.
 * `unit` is the compilation unit of the table. If it is NULL, inlined functions are not distinguished.
 */
static void add_table(struct gpubpf_lines *lines, Dwarf_Lines *table, size_t n, bool starts, Dwarf_Die *unit)
{
	struct gpubpf_line_row *rows = n < UINT32_MAX - lines->n ? realloc(lines->rows, (lines->n + n) * sizeof(*rows)) :
								   NULL;

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
		lines->rows[lines->n] = (struct gpubpf_line_row){ address, end ? 0 : line, lines->n, 0, 0 };
		if (starts)
			add_start(lines, &lines->rows[lines->n], row, unit);
		lines->n++;
	}
}

static void add_tables(struct gpubpf_lines *lines, Dwarf *dwarf, bool starts)
{
	Dwarf_Off at = 0, next;
	Dwarf_Lines *table;
	Dwarf_CU *unit = NULL;
	size_t n;

	while (!dwarf_next_lines(dwarf, at, &next, &unit, NULL, NULL, &table, &n) && next > at) {
		if (n)
			add_table(lines, table, n, starts, NULL);
		at = next;
	}
}

/* Adds the line tables of all compilation units, with inlined functions distinguished. */
static void add_units(struct gpubpf_lines *lines, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Lines *table;
	Dwarf_Die die;
	size_t n;

	for (; !dwarf_get_units(dwarf, unit, &next, NULL, NULL, &die, NULL); unit = next)
		if (!dwarf_getsrclines(&die, &table, &n) && n)
			add_table(lines, table, n, true, &die);
}

static void read_lines(const void *image, size_t size, bool starts, struct gpubpf_lines *lines)
{
	Dwarf *dwarf;
	Elf *elf;

	*lines = (struct gpubpf_lines){ 0 };
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, size);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf && starts)
		add_units(lines, dwarf);
	if (dwarf && !lines->n)
		add_tables(lines, dwarf, starts);
	if (lines->n)
		qsort(lines->rows, lines->n, sizeof(*lines->rows), compare);
	dwarf_end(dwarf);
	elf_end(elf);
}

void gpubpf_lines_read(const void *image, size_t size, struct gpubpf_lines *lines)
{
	read_lines(image, size, false, lines);
}

void gpubpf_lines_read_starts(const void *image, size_t size, struct gpubpf_lines *lines)
{
	read_lines(image, size, true, lines);
}

/* Sorts by file, line and inlined copy, then by address. */
static int by_line(const void *a, const void *b)
{
	const struct gpubpf_line_row *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->copy != y->copy)
		return x->copy < y->copy ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_address(const void *a, const void *b)
{
	const struct gpubpf_line_start *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

int gpubpf_lines_starts(const struct gpubpf_lines *lines, uint64_t from, uint64_t to, struct gpubpf_line_start **starts,
			size_t *n)
{
	struct gpubpf_line_row *rows = malloc((lines->n + 1) * sizeof(*rows));
	struct gpubpf_line_start *list = malloc((lines->n + 1) * sizeof(*list));
	size_t nrows = 0, nstarts = 0;

	if (!rows || !list) {
		free(rows);
		free(list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < lines->n; i++) {
		const struct gpubpf_line_row *row = &lines->rows[i];

		if (row->file && row->address >= from && row->address < to &&
		    (i + 1 == lines->n || row[1].address != row->address)) /* the row covers at least one instruction */
			rows[nrows++] = *row;
	}
	qsort(rows, nrows, sizeof(*rows), by_line);
	for (size_t i = 0; i < nrows; i++)
		if (!i || rows[i].file != rows[i - 1].file || rows[i].line != rows[i - 1].line ||
		    rows[i].copy != rows[i - 1].copy)
			list[nstarts++] = (struct gpubpf_line_start){ rows[i].address, lines->files[rows[i].file - 1],
								      rows[i].line };
	qsort(list, nstarts, sizeof(*list), by_address);
	free(rows);
	*starts = list;
	*n = nstarts;
	return 0;
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
	for (size_t i = 0; i < lines->nfiles; i++)
		free(lines->files[i]);
	free(lines->files);
	free(lines->rows);
	*lines = (struct gpubpf_lines){ 0 };
}
