/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH 52                 /* width of a histogram's bar in characters, as in bpftrace */
#define GAP_WIDTH 2                  /* blanks between columns */

/*
 * Grow a block to at least `needed` elements of `size` bytes, and set *room to the number of elements that fit. Returns
 * NULL if memory is short; then the block is unchanged.
 */
static void *grow_block(void *block, size_t needed, size_t *room, size_t size)
{
	size_t more = *room ? *room : 64;
	void *grown;

	if (needed <= *room)
		return block;
	while (more < needed)
		more *= 2;
	grown = realloc(block, more * size);
	if (grown)
		*room = more;
	return grown;
}

static void add_cell(struct gpubpf_table *t, const char *text, size_t n)
{
	size_t *cell = grow_block(t->cell, t->cells + 1ul, &t->room, sizeof(*cell));
	char *all = grow_block(t->text, t->used + n + 1, &t->text_room, 1);

	t->cell = cell ? cell : t->cell;
	t->text = all ? all : t->text;
	t->failed |= !cell || !all;
	if (t->failed)
		return;
	t->cell[t->cells++] = t->used;
	all += t->used;
	t->used += n + 1;
	memcpy(all, text, n);
	all[n] = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i] == '\t' || all[i] == '\n')
			all[i] = ' ';
}

static const char *get_cell(const struct gpubpf_table *t, uint32_t i)
{
	return t->text + t->cell[i];
}

static size_t get_cell_length(const struct gpubpf_table *t, uint32_t i)
{
	return (i + 1 < t->cells ? t->cell[i + 1] : t->used) - t->cell[i] - 1;
}

void gpubpf_table_init(struct gpubpf_table *t, const char *first, ...)
{
	va_list ap;

	*t = (struct gpubpf_table){ 0 };
	va_start(ap, first);
	for (const char *h = first; h; h = va_arg(ap, const char *))
		gpubpf_table_heading(t, h);
	va_end(ap);
}

void gpubpf_table_heading(struct gpubpf_table *t, const char *heading)
{
	gpubpf_table_text(t, heading);
	t->columns++;
}

void gpubpf_table_text(struct gpubpf_table *t, const char *text)
{
	add_cell(t, text, strlen(text));
}

void gpubpf_table_number(struct gpubpf_table *t, uint64_t v, bool is_signed)
{
	bool negative = is_signed && (int64_t)v < 0;
	char text[24], *at = text + sizeof(text);

	v = negative ? -v : v;
	do {
		*--at = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (negative)
		*--at = '-';
	add_cell(t, at, (size_t)(text + sizeof(text) - at));
}

void gpubpf_table_cell(struct gpubpf_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	if (t->failed)
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		t->failed = true;
	else
		add_cell(t, text, (size_t)n);
	if (n >= 0)
		free(text);
}

uint32_t gpubpf_table_rows(const struct gpubpf_table *t)
{
	return t->columns ? t->cells / t->columns - 1 : 0;
}

/* Returns true if the text is a number, possibly with a unit. */
static bool is_number(const char *text)
{
	static const char *const units[] = { "", " ns", " us", " ms", " s", " %" };
	const char *rest = text + strspn(text, "-0123456789.");

	for (size_t i = 0; rest > text && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(rest, units[i]))
			return true;
	return !text[0];
}

static void put_blanks(size_t n, FILE *out)
{
	static const char blanks[] = "                                                                ";

	for (size_t max = sizeof(blanks) - 1; n; n -= n < max ? n : max)
		fwrite_unlocked(blanks, 1, n < max ? n : max, out);
}

static void put_cell(const char *text, size_t n, size_t width, bool right, FILE *out)
{
	size_t blanks = width > n ? width - n : 0;

	put_blanks(GAP_WIDTH + (right ? blanks : 0), out);
	fwrite_unlocked(text, 1, n, out);
	put_blanks(right ? 0 : blanks, out);
}

void gpubpf_table_print(const struct gpubpf_table *t, FILE *out)
{
	size_t width[GPUBPF_TABLE_COLUMNS] = { 0 };
	bool number[GPUBPF_TABLE_COLUMNS];

	for (uint32_t c = 0; c < t->columns; c++)
		number[c] = true;
	for (uint32_t i = 0; i < t->cells; i++) {
		uint32_t c = i % t->columns;
		size_t n = get_cell_length(t, i);

		width[c] = n > width[c] ? n : width[c];
		if (i >= t->columns && number[c])
			number[c] = is_number(get_cell(t, i));
	}
	for (uint32_t i = 0; i < t->cells; i++) {
		uint32_t c = i % t->columns;
		bool last = c + 1 == t->columns;

		put_cell(get_cell(t, i), get_cell_length(t, i), last && !number[c] ? 0 : width[c], number[c], out);
		if (last)
			putc_unlocked('\n', out);
	}
	if (t->failed)
		fprintf(out, "  (out of memory: the table is incomplete)\n");
}

void gpubpf_table_finish(struct gpubpf_table *t)
{
	free(t->cell);
	free(t->text);
	*t = (struct gpubpf_table){ 0 };
}

/* Format a power of two as bpftrace does: 1K, 64M, 2G. */
static void format_power(uint32_t shift, char *buf, size_t size)
{
	static const char suffix[] = "\0KMGTPE";
	uint32_t unit = shift / 10;

	snprintf(buf, size, "%llu%.1s", 1ull << (shift % 10), &suffix[unit]);
}

static void format_linear_label(const struct gpubpf_hist_shape *shape, uint32_t i, char *buf, size_t size)
{
	unsigned long long low = shape->min + (i - 1) * shape->step;

	if (!i)
		snprintf(buf, size, "(..., %llu)", (unsigned long long)shape->min);
	else if (i + 1 == shape->n)
		snprintf(buf, size, "[%llu, ...)", low);
	else if (shape->step == 1)
		snprintf(buf, size, "[%llu]", low);
	else
		snprintf(buf, size, "[%llu, %llu)", low, low + (unsigned long long)shape->step);
}

static void format_slot_label(const struct gpubpf_hist_shape *shape, uint32_t i, char *buf, size_t size)
{
	char low[16], high[16];
	uint64_t from, to;

	if (shape->step) {
		format_linear_label(shape, i, buf, size);
		return;
	}
	if (shape->zeros && i <= 1) {
		snprintf(buf, size, "[%u]", i);
		return;
	}
	gpubpf_hist_bounds(shape, i, &from, &to);
	if (shape->bits && to == UINT64_MAX)
		snprintf(buf, size, "[%llu, ...)", (unsigned long long)from);
	else if (shape->bits)
		snprintf(buf, size, from == to ? "[%llu]" : "[%llu, %llu)", (unsigned long long)from,
			 (unsigned long long)to + 1);
	if (shape->bits)
		return;
	format_power(i - shape->zeros, low, sizeof(low));
	format_power(i - shape->zeros + 1, high, sizeof(high));
	snprintf(buf, size, "[%s, %s)", i ? low : "0", to == UINT64_MAX ? "..." : high);
}

static void print_bars(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	uint32_t first = shape->n, last = 0;
	uint64_t max = 0;

	for (uint32_t i = 0; i < shape->n; i++) {
		if (!slot[i])
			continue;
		first = i < first ? i : first;
		last = i;
		max = slot[i] > max ? slot[i] : max;
	}
	for (uint32_t i = first; i < shape->n && i <= last; i++) {
		char label[64];
		int length = (long double)slot[i] * BAR_WIDTH / max;
		uint32_t empty = i;

		while (shape->bits && !slot[empty])
			empty++;
		if (empty - i > 2) {
			fprintf(out, "  ...\n");
			i = empty - 1;
			continue;
		}
		format_slot_label(shape, i, label, sizeof(label));
		fprintf(out, "  %-16s %10llu |%-*.*s|\n", label, (unsigned long long)slot[i], BAR_WIDTH, length, bar);
	}
}

/* Print a histogram that has several slots per power of two. One bar shows all slots between two powers of two. */
static void print_fine(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out)
{
	static const struct gpubpf_hist_shape powers = { .n = 65, .width = 8, .zeros = true };
	uint64_t power[65] = { 0 }, low, high;

	for (uint32_t i = 0; i < shape->n; i++) {
		gpubpf_hist_bounds(shape, i, &low, &high);
		power[low ? 64 - __builtin_clzll(low) : 0] += slot[i];
	}
	print_bars(&powers, power, out);
}

void gpubpf_hist_print(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out)
{
	uint64_t count = gpubpf_hist_count(shape, slot);

	if (!count) {
		fprintf(out, "  (empty)\n");
		return;
	}
	if (shape->bits && !shape->each)
		print_fine(shape, slot, out);
	else
		print_bars(shape, slot, out);
	fprintf(out, "  %llu values, p50 %llu, p90 %llu, p99 %llu\n", (unsigned long long)count,
		(unsigned long long)gpubpf_hist_percentile(shape, slot, 50),
		(unsigned long long)gpubpf_hist_percentile(shape, slot, 90),
		(unsigned long long)gpubpf_hist_percentile(shape, slot, 99));
}
