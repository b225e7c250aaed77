/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BAR 52                 /* columns of a histogram's bar, as in bpftrace */
#define GAP 2                  /* blanks between columns */

static void add(struct gpubpf_table *t, char *own)
{
	if (t->cells == t->room) {
		uint32_t room = t->room ? t->room * 2 : 64;
		char **grown = realloc(t->cell, room * sizeof(*grown));

		if (!grown) {
			t->failed = true;
			free(own);
			return;
		}
		t->cell = grown;
		t->room = room;
	}
	if (!own) {
		t->failed = true;
		return;
	}
	for (char *c = own; *c; c++)
		if (*c == '\t' || *c == '\n')
			*c = ' ';
	t->cell[t->cells++] = own;
}

void gpubpf_table_init(struct gpubpf_table *t, const char *first, ...)
{
	va_list ap;

	*t = (struct gpubpf_table){0};
	va_start(ap, first);
	for (const char *h = first; h; h = va_arg(ap, const char *))
		gpubpf_table_heading(t, h);
	va_end(ap);
}

void gpubpf_table_heading(struct gpubpf_table *t, const char *heading)
{
	add(t, strdup(heading));
	t->columns++;
}

void gpubpf_table_cell(struct gpubpf_table *t, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (t->failed)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add(t, text);
}

uint32_t gpubpf_table_rows(const struct gpubpf_table *t)
{
	return t->columns ? t->cells / t->columns - 1 : 0;
}

/* One, maybe with a unit. */
static bool is_number(const char *text)
{
	static const char *const units[] = { "", " ns", " us", " ms", " s", " %" };
	const char *rest = text + strspn(text, "-0123456789.");

	for (size_t i = 0; rest > text && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(rest, units[i]))
			return true;
	return !text[0];
}

void gpubpf_table_print(const struct gpubpf_table *t, FILE *out)
{
	size_t width[GPUBPF_TABLE_COLUMNS] = {0};
	bool number[GPUBPF_TABLE_COLUMNS];

	for (uint32_t c = 0; c < t->columns; c++)
		number[c] = true;
	for (uint32_t i = 0; i < t->cells; i++) {
		uint32_t c = i % t->columns;
		size_t n = strlen(t->cell[i]);

		width[c] = n > width[c] ? n : width[c];
		if (i >= t->columns)
			number[c] &= is_number(t->cell[i]);
	}
	for (uint32_t i = 0; i < t->cells; i++) {
		uint32_t c = i % t->columns;
		bool last = c + 1 == t->columns;

		fprintf(out, "%*s%*s%s", c ? GAP : 2, "",
			last && !number[c] ? 0 : number[c] ? (int)width[c] : -(int)width[c], t->cell[i],
			last ? "\n" : "");
	}
	if (t->failed)
		fprintf(out, "  (memory ran out: the table is not complete)\n");
}

void gpubpf_table_finish(struct gpubpf_table *t)
{
	for (uint32_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	*t = (struct gpubpf_table){0};
}

/* A power of two as bpftrace writes it: 1K, 64M, 2G */
static void power(uint32_t shift, char *buf, size_t size)
{
	static const char suffix[] = "\0KMGTPE";
	uint32_t unit = shift / 10;

	snprintf(buf, size, "%llu%.1s", 1ull << (shift % 10), &suffix[unit]);
}

static void linear_label(const struct gpubpf_hist_shape *shape, uint32_t i, char *buf, size_t size)
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

static void slot_label(const struct gpubpf_hist_shape *shape, uint32_t i, char *buf, size_t size)
{
	char low[16], high[16];
	uint64_t from, to;

	if (shape->step) {
		linear_label(shape, i, buf, size);
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
		snprintf(buf, size, from == to ? "[%llu]" : "[%llu, %llu)", (unsigned long long)from, (unsigned long long)to + 1);
	if (shape->bits)
		return;
	power(i - shape->zeros, low, sizeof(low));
	power(i - shape->zeros + 1, high, sizeof(high));
	snprintf(buf, size, "[%s, %s)", i ? low : "0", to == UINT64_MAX ? "..." : high);
}

static void print_bars(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	uint32_t first = shape->n, last = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < shape->n; i++) {
		if (!slot[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = slot[i] > most ? slot[i] : most;
	}
	for (uint32_t i = first; i < shape->n && i <= last; i++) {
		char label[64];
		int length = (long double)slot[i] * BAR / most;
		uint32_t empty = i;

		while (shape->bits && !slot[empty])
			empty++;
		if (empty - i > 2) {
			fprintf(out, "  ...\n");
			i = empty - 1;
			continue;
		}
		slot_label(shape, i, label, sizeof(label));
		fprintf(out, "  %-16s %10llu |%-*.*s|\n", label, (unsigned long long)slot[i], BAR, length, bar);
	}
}

/* Several slots to a power of two, drawn as one. */
static void print_fine(const struct gpubpf_hist_shape *shape, const uint64_t *slot, FILE *out)
{
	static const struct gpubpf_hist_shape powers = { .n = 65, .width = 8, .zeros = true };
	uint64_t power[65] = {0}, low, high;

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
