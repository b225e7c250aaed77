/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 2048
#define MAX_ROWS 256
#define MAX_DEPTH 4 /* deeper spans are not drawn */
#define FIRST_BIN_NS 1000

#define WIDTH 1600
#define LEFT 220 /* names of tracks */
#define ROW 18
#define TOP 40
#define CHAR 6 /* width of a character */

/* A row of the picture: the spans of a track at one depth. */
struct row {
	uint32_t track, name, depth;
	struct bin {
		uint32_t name; /* 1 + the name with the most time; 0: idle */
		uint64_t ns;
	} bin[BINS];
};

struct drawing {
	struct timeline_output *out;
	const struct timeline_format *format; /* that gets the events, too */
	struct timeline_format own;
	struct row *row[MAX_ROWS];
	uint32_t nrows, omitted;
	uint64_t start, bin_ns; /* start 0: no event yet */
	struct lane {
		uint32_t name, depth, open[MAX_DEPTH];
		uint64_t begin[MAX_DEPTH];
		struct row *row[MAX_DEPTH];
	} *lane;
	uint32_t nlanes;
};

/* A format has no private pointer, and the tool draws one picture. */
static struct drawing *drawing;

/* -- bins -- */

static void halve(struct row *row)
{
	for (uint32_t i = 0; i < BINS / 2; i++) {
		const struct bin *a = &row->bin[2 * i], *b = a + 1;
		struct bin sum = a->ns >= b->ns ? *a : *b;

		if (a->name == b->name)
			sum.ns = a->ns + b->ns;
		row->bin[i] = sum;
	}
	memset(&row->bin[BINS / 2], 0, BINS / 2 * sizeof(row->bin[0]));
}

/* Make the bins so long that they contain the time. */
static void stretch(struct drawing *d, uint64_t time)
{
	if (!d->start)
		d->start = time;
	while (time > d->start && (time - d->start) / d->bin_ns >= BINS) {
		d->bin_ns *= 2;
		for (uint32_t i = 0; i < d->nrows; i++)
			halve(d->row[i]);
	}
}

static struct row *find_row(struct drawing *d, uint32_t track, uint32_t depth)
{
	struct row *row = d->lane[track].row[depth];

	if (row || d->nrows == MAX_ROWS)
		return row;
	row = d->lane[track].row[depth] = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->track = track;
	row->depth = depth;
	row->name = d->lane[track].name;
	d->row[d->nrows++] = row;
	return row;
}

static void add_to_bin(struct bin *bin, uint32_t name, uint64_t ns)
{
	if (bin->name == name + 1) {
		bin->ns += ns;
	} else if (ns > bin->ns) {
		bin->name = name + 1;
		bin->ns = ns;
	}
}

static void add_span(struct drawing *d, uint32_t track, uint32_t depth, uint64_t begin, uint64_t end)
{
	struct row *row = find_row(d, track, depth);

	stretch(d, end);
	if (!row) {
		d->omitted++;
		return;
	}
	begin = begin > d->start ? begin : d->start;
	for (uint64_t i = (begin - d->start) / d->bin_ns; i < BINS; i++) {
		uint64_t from = d->start + i * d->bin_ns, to = from + d->bin_ns;

		from = from > begin ? from : begin;
		to = to < end ? to : end;
		if (to < from || (to == from && begin != end))
			break;
		add_to_bin(&row->bin[i], d->lane[track].open[depth], to > from ? to - from : 1);
		if (to == end)
			break;
	}
}

/* -- the format -- */

static struct lane *lane_at(struct drawing *d, uint32_t track)
{
	return track < d->nlanes ? &d->lane[track] : NULL;
}

static void draw_track(struct timeline_output *out, uint32_t index, const struct timeline_track *track)
{
	struct drawing *d = drawing;

	if (index >= d->nlanes) {
		uint32_t n = 2 * index + 64;
		struct lane *lane = realloc(d->lane, n * sizeof(*lane));

		if (lane) {
			memset(lane + d->nlanes, 0, (n - d->nlanes) * sizeof(*lane));
			d->lane = lane;
			d->nlanes = n;
		}
	}
	if (index < d->nlanes)
		d->lane[index] = (struct lane){ .name = track->name };
	d->format->track(out, index, track);
}

static void draw_begin(struct timeline_output *out, uint32_t track, const struct timeline_span *span,
		       const struct timeline_stack *stack)
{
	struct drawing *d = drawing;
	struct lane *lane = lane_at(d, track);

	stretch(d, span->begin);
	if (lane && lane->depth < MAX_DEPTH) {
		lane->open[lane->depth] = span->name;
		lane->begin[lane->depth] = span->begin;
	}
	if (lane)
		lane->depth++;
	d->format->begin(out, track, span, stack);
}

static void draw_end(struct timeline_output *out, uint32_t track, uint64_t time)
{
	struct drawing *d = drawing;
	struct lane *lane = lane_at(d, track);

	if (lane && lane->depth && --lane->depth < MAX_DEPTH)
		add_span(d, track, lane->depth, lane->begin[lane->depth], time);
	d->format->end(out, track, time);
}

struct drawing *drawing_create(struct timeline_output *out)
{
	struct drawing *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->bin_ns = FIRST_BIN_NS;
	d->out = out;
	d->format = out->format;
	d->own = *out->format;
	d->own.track = draw_track;
	d->own.begin = draw_begin;
	d->own.end = draw_end;
	out->format = &d->own;
	drawing = d;
	return d;
}

void drawing_destroy(struct drawing *d)
{
	if (!d)
		return;
	d->out->format = d->format;
	for (uint32_t i = 0; i < d->nrows; i++)
		free(d->row[i]);
	free(d->lane);
	free(d);
}

/* -- the picture -- */

static void put_text(FILE *f, const char *text, size_t most)
{
	for (size_t i = 0; text[i] && i < most; i++)
		switch (text[i]) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~' ? '?' : text[i], f);
		}
}

/* Returns a hue that depends only on the name. */
static uint32_t hue_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash % 360;
}

static double x_of(const struct drawing *d, uint64_t bins, uint64_t bin)
{
	return LEFT + (double)bin * (WIDTH - LEFT) / (double)bins;
}

static void put_bar(const struct drawing *d, FILE *f, double x, double width, uint32_t y, const char *name, uint64_t ns)
{
	fprintf(f, "<g><title>");
	put_text(f, name, 200);
	fprintf(f,
		": %.3f us</title><rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\" fill=\"hsl(%" PRIu32
		",60%%,70%%)\"/>",
		(double)ns / 1000, x, y, width, ROW - 2, hue_of(name));
	if (width >= 4 * CHAR) {
		fprintf(f, "<text x=\"%.2f\" y=\"%" PRIu32 "\">", x + 2, y + ROW - 6);
		put_text(f, name, (size_t)(width / CHAR));
		fprintf(f, "</text>");
	}
	fprintf(f, "</g>\n");
}

/* Draw equal neighbours as one bar. */
static void put_row(const struct drawing *d, FILE *f, const struct row *row, uint64_t bins, uint32_t y)
{
	for (uint64_t i = 0, n; i < bins; i += n) {
		uint64_t ns = 0;

		n = 1;
		if (!row->bin[i].name)
			continue;
		for (n = 0; i + n < bins && row->bin[i + n].name == row->bin[i].name; n++)
			ns += row->bin[i + n].ns;
		put_bar(d, f, x_of(d, bins, i), x_of(d, bins, i + n) - x_of(d, bins, i), y,
			timeline_name_text(d->out->names, row->bin[i].name - 1), ns);
	}
}

static void put_label(const struct drawing *d, FILE *f, const struct row *row, uint32_t y)
{
	if (row->depth)
		return;
	fprintf(f, "<text x=\"4\" y=\"%" PRIu32 "\">", y + ROW - 6);
	put_text(f, timeline_name_text(d->out->names, row->name), LEFT / CHAR - 2);
	fprintf(f, "</text>\n");
}

static int by_track(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* Returns the number of bins up to the last one with a span. */
static uint64_t used_bins(const struct drawing *d)
{
	uint64_t n = 1;

	for (uint32_t r = 0; r < d->nrows; r++)
		for (uint64_t i = n; i < BINS; i++)
			if (d->row[r]->bin[i].name)
				n = i + 1;
	return n;
}

static void put_axis(const struct drawing *d, FILE *f, uint64_t bins, uint32_t height)
{
	for (int i = 0; i <= 8; i++) {
		double x = LEFT + i * (WIDTH - LEFT) / 8.0, ms = (double)(bins * d->bin_ns) * i / 8 / 1e6;

		fprintf(f,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%" PRIu32 "\" stroke=\"#ddd\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.3f ms</text>\n",
			x, TOP - 6, x, height, x, TOP - 10,
			i == 8 ? "end" :
			i      ? "middle" :
				 "start",
			ms);
	}
}

int drawing_write(const struct drawing *d, const char *path)
{
	uint32_t height = TOP + ROW * (d->nrows + 1);
	struct row *rows[MAX_ROWS];
	uint64_t bins = used_bins(d);
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	memcpy(rows, d->row, sizeof(rows));
	qsort(rows, d->nrows, sizeof(rows[0]), by_track);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32
		"\" font-family=\"monospace\" font-size=\"10\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, height);
	put_axis(d, f, bins, height);
	for (uint32_t i = 0; i < d->nrows; i++) {
		put_label(d, f, rows[i], TOP + ROW * i);
		put_row(d, f, rows[i], bins, TOP + ROW * i);
	}
	if (d->omitted)
		fprintf(f,
			"<text x=\"4\" y=\"%" PRIu32 "\">%" PRIu32
			" spans are on tracks for which the picture has no room</text>\n",
			height - 6, d->omitted);
	fprintf(f, "</svg>\n");
	return fclose(f) == EOF ? -EIO : 0;
}
