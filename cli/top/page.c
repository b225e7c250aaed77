/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the lines of `top`: a summary of the session, then the table. The screen and plain output share them. */
#include "top.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define LINE 1024
#define MIN_FIRST 8    /* columns of the first cell on a narrow screen */
#define WARN_COST 1.05 /* probed launches that take longer than this factor are marked */

/* -- text of a limited width -- */

/*
 * Decode the next character. Returns its number of bytes. *width is 0 for a character that is not printed, such as
 * one that changes the direction of text.
 */
static size_t measure_char(const char *text, int *width)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n = mbrtowc(&c, text, MB_CUR_MAX, &state);

	if (n == (size_t)-1 || n == (size_t)-2 || !n) {
		*width = 0;
		return 1;
	}
	*width = wcwidth(c);
	if (*width < 0)
		*width = 0;
	return n;
}

static int count_columns(const char *text)
{
	int columns = 0, width;

	while (*text) {
		text += measure_char(text, &width);
		columns += width ? width : 1;
	}
	return columns;
}

/* Append the characters of text from column `from` up to column `to`. */
static void copy_columns(const char *text, int from, int to, char *buf, size_t size)
{
	size_t used = strlen(buf);

	for (int at = 0, width; *text && at < to;) {
		size_t n = measure_char(text, &width);
		int columns = width ? width : 1;

		if (at >= from && at + columns <= to && used + n < size) {
			memcpy(buf + used, width ? text : "?", width ? n : 1);
			used += width ? n : 1;
		}
		at += columns;
		text += n;
	}
	buf[used] = 0;
}

static void append(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, "%s", text);
}

void top_fit(const char *text, int columns, char *buf, size_t size)
{
	int all = count_columns(text), head = (columns - 2) * 2 / 3;

	buf[0] = 0;
	if (all <= columns || columns < 8) {
		copy_columns(text, 0, columns, buf, size);
		return;
	}
	copy_columns(text, 0, head, buf, size);
	append(buf, size, "..");
	copy_columns(text, all - (columns - 2 - head), all, buf, size);
}

static void pad(char *buf, size_t size, int columns)
{
	size_t used = strlen(buf);

	for (int i = count_columns(buf); i < columns && used + 1 < size; i++)
		buf[used++] = ' ';
	buf[used] = 0;
}

/* -- the summary -- */

struct page {
	const struct top *t;
	int width, lines;
	top_line_fn put;
	void *ctx;
};

static void put(struct page *p, enum top_style style, const char *text)
{
	char line[LINE * 4] = "";

	copy_columns(text, 0, p->width, line, sizeof(line));
	p->put(p->ctx, style, line);
	p->lines++;
}

static void put_session(struct page *p)
{
	const struct top *t = p->t;
	const char *device = t->is.nprocesses ? t->is.process[0].device_name : "no device yet";
	char line[LINE], shown[128];

	top_fit(device, 36, shown, sizeof(shown));
	snprintf(line, sizeof(line), "gpubpf top: %u kernel%s, %u process%s, %s%s", t->is.nkernels,
		 t->is.nkernels == 1 ? "" : "s", t->is.nprocesses, t->is.nprocesses == 1 ? "" : "es", shown,
		 t->paused ? "  PAUSED" : "");
	put(p, TOP_BOLD, line);
}

static void put_load(struct page *p)
{
	const struct top *t = p->t;
	char rate[32] = "-", idle[40] = "not known", cost[64] = "not known", line[LINE];
	double factor = t->is.cost_factor;

	if (t->rates.launches_per_s >= 0)
		snprintf(rate, sizeof(rate), "%.1f", t->rates.launches_per_s);
	if (t->rates.idle >= 0)
		snprintf(idle, sizeof(idle), ">= %.1f %%", 100 * t->rates.idle);
	if (factor > 0)
		snprintf(cost, sizeof(cost), "%.2fx%s", factor, factor > WARN_COST ? " (above 5 %)" : "");
	snprintf(line, sizeof(line), "launches/s %s  idle %s  lost %llu  probe cost %s", rate, idle,
		 (unsigned long long)t->is.dropped, cost);
	put(p, t->is.dropped || factor > WARN_COST ? TOP_WARNING : TOP_PLAIN, line);
}

static const char *hint(const struct top *t)
{
	if (!t->is.nkernels)
		return "No kernel has been launched yet.";
	return t->is.has_times ? "" : "No probe measures times: attach kerneltime (key a).";
}

static void put_state(struct page *p)
{
	const struct top *t = p->t;
	const char *text = t->note[0] ? t->note : hint(t);
	char line[LINE];

	snprintf(line, sizeof(line), "%s by %s%s%s%s%s%s", t->view == TOP_KERNELS ? "kernels" : "processes",
		 top_columns[t->sort[t->view]].heading, t->reverse ? ", smallest first" : "",
		 t->filter[0] ? ", filter: " : "", t->filter, text[0] ? "  " : "", text);
	put(p, t->note[0] ? TOP_WARNING : TOP_PLAIN, line);
}

/* -- the table -- */

static bool is_shown(const struct page *p, enum top_column c)
{
	int used = 0;

	if (top_columns[c].view != p->t->view || top_columns[c].room > p->width)
		return false;
	for (enum top_column i = 0; i <= c; i++) /* the columns to the left, and this one */
		if (top_columns[i].view == p->t->view && top_columns[i].width && top_columns[i].room <= p->width)
			used += top_columns[i].width + 1;
	return used + MIN_FIRST <= p->width;
}

/* Returns the width of the first column, which takes the rest of the line. */
static int compute_first_width(const struct page *p)
{
	int rest = p->width;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++)
		if (is_shown(p, c) && top_columns[c].width)
			rest -= top_columns[c].width + 1;
	return rest < MIN_FIRST ? MIN_FIRST : rest;
}

static void put_cells(struct page *p, const struct top_row *row)
{
	char line[LINE] = "", cell[LINE];
	int end = 0;

	for (enum top_column c = 0; c < TOP_COLUMNS; c++) {
		int width = top_columns[c].width ? top_columns[c].width : compute_first_width(p);
		const char *text = row ? row->cell[c] : top_columns[c].heading;

		if (!is_shown(p, c))
			continue;
		top_fit(text, width, cell, sizeof(cell));
		end += width + (end > 0);
		if (top_columns[c].width)
			pad(line, sizeof(line), end - count_columns(cell));
		append(line, sizeof(line), cell);
	}
	put(p, row ? TOP_PLAIN : TOP_HEADING, line);
}

void top_put_page(const struct top *t, int width, int height, top_line_fn put_line, void *ctx)
{
	struct page p = { .t = t, .width = width, .put = put_line, .ctx = ctx };

	put_session(&p);
	put_load(&p);
	put_state(&p);
	put_cells(&p, NULL);
	for (uint32_t i = height ? t->first : 0; i < t->n && (!height || p.lines < height - 1); i++)
		put_cells(&p, &t->row[i]);
	while (height && p.lines < height - 1)
		put(&p, TOP_PLAIN, "");
	if (height)
		put(&p, TOP_HEADING, "q quit  p pause  < > sort  r reverse  f filter  v view  a probes  h help");
}

void top_put_help(const struct top *t, int width, top_line_fn put_line, void *ctx)
{
	struct page p = { .t = t, .width = width, .put = put_line, .ctx = ctx };
	char line[LINE];

	put(&p, TOP_BOLD, "Keys");
	put(&p, TOP_PLAIN, "  q, Ctrl-C   quit; the application runs on");
	put(&p, TOP_PLAIN, "  p, space    pause the screen");
	put(&p, TOP_PLAIN, "  < >, r      sort by the previous or next column; reverse");
	put(&p, TOP_PLAIN, "  f, /        show rows whose name contains a text; Escape ends the filter");
	put(&p, TOP_PLAIN, "  v           kernels or processes");
	put(&p, TOP_PLAIN, "  a           attach and detach ready probes");
	put(&p, TOP_PLAIN, "  arrows      scroll");
	put(&p, TOP_BOLD, "Columns");
	for (enum top_column c = 0; c < TOP_COLUMNS; c++) {
		if (top_columns[c].view != t->view)
			continue;
		snprintf(line, sizeof(line), "  %-9s  %s", top_columns[c].heading, top_columns[c].meaning);
		put(&p, TOP_PLAIN, line);
	}
}
