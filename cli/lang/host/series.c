/* SPDX-License-Identifier: Apache-2.0 */
/* Prints time series in bpftrace's format: one line for each interval, with its value as a point. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "host.h"

#define WIDTH 53
#define LEFT 21 /* width of the smallest value above and below the points */

struct series {
	const struct lang_map *map;
	const struct lang_row *rows; /* of one key, ordered by time */
	uint32_t n;
	uint64_t first, last; /* numbers of the intervals */
	int64_t min, max;
};

static uint64_t get_interval(const struct lang_map *map, const struct lang_row *row)
{
	uint64_t v;

	memcpy(&v, row->key + map->key_size - sizeof(v), sizeof(v));
	return v;
}

/* Return the fraction of a second of a time in digits: 0 for whole seconds, 3 for milliseconds. */
static int count_digits(uint64_t interval)
{
	return interval % 1000000000 == 0 ? 0 : interval % 1000000 == 0 ? 3 : interval % 1000 == 0 ? 6 : 9;
}

/* Print the time of day at which an interval begins. */
static void show_begin(const struct lang_map *map, uint64_t interval, FILE *out)
{
	static const uint32_t units[] = { 1, 1000000, 1000, 1 };
	int digits = count_digits(map->series_ns);
	struct timespec now, base;
	struct tm tm;
	time_t seconds;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &base);
	ns = (uint64_t)(now.tv_sec - base.tv_sec) * 1000000000 + (uint64_t)(now.tv_nsec - base.tv_nsec) +
	     interval * map->series_ns;
	seconds = (time_t)(ns / 1000000000);
	localtime_r(&seconds, &tm);
	fprintf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (digits)
		fprintf(out, ".%0*u", digits, (uint32_t)(ns % 1000000000) / units[digits / 3]);
}

static int compute_column(const struct series *s, int64_t v, int width)
{
	return (int)((double)width * ((double)v - (double)s->min) / ((double)s->max - (double)s->min));
}

static void show_line(const struct series *s, uint64_t interval, const struct lang_row *row, FILE *out)
{
	char line[WIDTH + 1];

	memset(line, ' ', WIDTH);
	line[WIDTH] = '\0';
	line[0] = line[WIDTH - 1] = '|';
	if (s->min < 0 && s->max > 0)
		line[compute_column(s, 0, WIDTH)] = '.';
	if (row)
		line[compute_column(s, (int64_t)lang_row_number(s->map, row), WIDTH - 1)] = '*';
	show_begin(s->map, interval, out);
	fprintf(out, " %s ", line);
	if (row)
		lang_show_number(out, lang_row_number(s->map, row), s->map->value.is_signed);
	else
		fprintf(out, "-");
	fprintf(out, "\n");
}

static void show_range(const struct series *s, FILE *out)
{
	int digits = count_digits(s->map->series_ns);

	fprintf(out, "%*s%-*" PRId64 "%*" PRId64 "\n", digits ? 10 + digits : 9, "", LEFT, s->min, WIDTH - LEFT, s->max);
}

static void compute_range(struct series *s)
{
	s->last = get_interval(s->map, &s->rows[s->n - 1]);
	while (s->n > 1 && get_interval(s->map, &s->rows[0]) + s->map->series_count <= s->last) {
		s->rows++;
		s->n--;
	}
	s->first = get_interval(s->map, &s->rows[0]);
	s->min = INT64_MAX;
	s->max = INT64_MIN;
	for (uint32_t i = 0; i < s->n; i++) {
		int64_t v = (int64_t)lang_row_number(s->map, &s->rows[i]);

		s->min = v < s->min ? v : s->min;
		s->max = v > s->max ? v : s->max;
	}
	if (s->min == s->max) {
		s->min -= s->min > INT64_MIN;
		s->max += s->max < INT64_MAX;
	}
}

static void show_one(struct series *s, FILE *out)
{
	static const char *const units[] = { "", ".ms", ".us", ".ns" };
	static const char bar[] = "___________________________________________________";
	int digits = count_digits(s->map->series_ns);
	uint32_t i = 0;

	compute_range(s);
	show_range(s, out);
	fprintf(out, "hh:mm:ss%-*s|%s|\n", digits ? 2 + digits : 1, units[digits / 3], bar);
	for (uint64_t at = s->first; at <= s->last; at++) {
		while (i + 1 < s->n && get_interval(s->map, &s->rows[i]) < at)
			i++;
		show_line(s, at, get_interval(s->map, &s->rows[i]) == at ? &s->rows[i] : NULL, out);
	}
	fprintf(out, "%*sv%sv\n", digits ? 10 + digits : 9, "", bar);
	show_range(s, out);
	fprintf(out, "\n");
}

void lang_show_series(struct lang_host *h, const struct lang_map *map, const struct lang_rows *rows, FILE *out)
{
	size_t size = map->key_size - sizeof(uint64_t);
	uint32_t n;

	for (uint32_t i = 0; i < rows->n; i += n) {
		struct series s = { .map = map, .rows = &rows->row[i] };

		for (n = 1; i + n < rows->n && !memcmp(rows->row[i + n].key, rows->row[i].key, size);)
			n++;
		s.n = n;
		lang_show_name(h, map, &rows->row[i], out);
		fprintf(out, "\n");
		show_one(&s, out);
	}
}
