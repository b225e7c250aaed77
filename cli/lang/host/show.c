/* SPDX-License-Identifier: Apache-2.0 */
/* Prints maps in bpftrace's format: @[key, key]: value, sorted by value, histograms as bars. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/load/typed/hist.h"
#include "core/session/report/table.h"
#include "gpubpf/ctx.h"
#include "core/session/session.h"
#include "core/session/stacks/stacks.h"
#include "host.h"

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

void lang_show_number(FILE *out, uint64_t v, bool is_signed)
{
	if (is_signed)
		fprintf(out, "%" PRId64, (int64_t)v);
	else
		fprintf(out, "%" PRIu64, v);
}

static const struct gpubpf_stack *find_stack(struct lang_host *h, uint64_t id)
{
	const struct gpubpf_map *map = gpubpf_session__find_map_by_name(h->s, "__stacks");
	uint32_t key = (uint32_t)id;

	return map && id == key ? gpubpf_stack_by_key(map, &key) : NULL;
}

const char *lang_stack_line(struct lang_host *h, uint64_t id)
{
	const struct gpubpf_stack *stack = find_stack(h, id);

	return stack ? gpubpf_stack_text(h->s, stack) : "";
}

/* Print one frame per line, innermost first, as bpftrace does. If the stack is not known, print the error code. */
static void show_stack(struct lang_host *h, uint64_t id, FILE *out)
{
	const struct gpubpf_stack *stack = find_stack(h, id);
	char text[512];

	if (!stack)
		lang_show_number(out, id, true);
	for (uint32_t i = 0; stack && i < stack->n; i++) {
		gpubpf_stack_frame(h->s, stack, i, true, text, sizeof(text));
		fprintf(out, "\n    %s", text);
	}
	if (stack)
		fputc('\n', out);
}

static void show_tuple(struct lang_host *h, const struct lang_shape *shape, const uint8_t *at, FILE *out)
{
	fputc('(', out);
	for (uint32_t i = 0; i < shape->n; i++) {
		fprintf(out, "%s", i ? ", " : "");
		lang_show_inline(h, shape->type[i], at + shape->at[i], out);
	}
	fprintf(out, "%s)", shape->n == 1 ? "," : "");
}

void lang_show_buffer(const uint8_t *at, uint32_t capacity, char style, FILE *out)
{
	uint64_t n = word(at);

	for (uint64_t i = 0; i < n && i < capacity; i++) {
		uint8_t byte = at[8 + i];

		if (style == 'h')
			fprintf(out, "%s%02x", i ? " " : "", byte);
		else if (style || byte < ' ' || byte > '~')
			fprintf(out, "\\x%02x", byte);
		else
			fputc(byte, out);
	}
}

/* Print a time of nsecs as the time of day. %f in the format is the microseconds. */
static void show_time(const char *format, uint64_t ns, FILE *out)
{
	struct timespec now, base;
	char text[256], expanded[256] = "";
	struct tm tm;
	time_t seconds;
	uint64_t at;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &base);
	at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
	     ((uint64_t)base.tv_sec * 1000000000 + (uint64_t)base.tv_nsec) + ns;
	seconds = (time_t)(at / 1000000000);
	localtime_r(&seconds, &tm);
	for (size_t n = 0; *format && n < sizeof(expanded) - 8; n = strlen(expanded)) {
		bool is_micro = format[0] == '%' && format[1] == 'f';
		bool is_pair = format[0] == '%' && format[1];

		if (is_micro)
			snprintf(expanded + n, sizeof(expanded) - n, "%06u", (unsigned int)(at % 1000000000 / 1000));
		else
			snprintf(expanded + n, sizeof(expanded) - n, "%.*s", is_pair ? 2 : 1, format);
		format += is_pair ? 2 : 1;
	}
	if (strftime(text, sizeof(text), expanded, &tm))
		fprintf(out, "%s", text);
}

/* Return the name of the number in its enum, or "". */
static const char *find_enumerator(const struct lang *l, const struct lang_ctype *names, uint64_t v)
{
	const struct lang_enumerator *e = l->enumerators;

	while (e && (e->type != names || (int32_t)e->value != (int32_t)v))
		e = e->next;
	return e ? e->name : "";
}

static void show_typed(struct lang_host *h, struct lang_type type, const uint8_t *at, FILE *out)
{
	uint64_t v = lang_is_in_memory(type) ? 0 : word(at);
	const char *name = type.base == LANG_KERNEL ? h->shown(h->ctx, v) :
			   type.names               ? find_enumerator(h->l, type.names, v) :
						      "";

	if (type.base == LANG_NAME)
		fprintf(out, "%.*s", GPUBPF_CTX_NAME, (const char *)at);
	else if (type.base == LANG_TUPLE)
		show_tuple(h, type.shape, at, out);
	else if (type.base == LANG_BUFFER && type.label == LANG_LABEL_IP6)
		lang_show_ip6(at + 8, out);
	else if (type.base == LANG_BUFFER)
		lang_show_buffer(at, type.bytes, 0, out);
	else if (type.base == LANG_BOOL)
		fprintf(out, "%s", v ? "true" : "false");
	else if (type.base == LANG_TIME)
		show_time(type.format, v, out);
	else if (type.base == LANG_PROCESS)
		fprintf(out, "%s", lang_process_name(h, (uint32_t)v));
	else if (type.base == LANG_LABEL)
		lang_show_label(type.label, v, out);
	else if (type.base == LANG_FRAME_LIST)
		lang_show_frames(h, type, at, out);
	else if (type.base == LANG_STACK)
		show_stack(h, v, out);
	else if (type.base == LANG_ADDRESS)
		fprintf(out, "0x%" PRIx64, v);
	else if (name && name[0])
		fprintf(out, "%s", name);
	else
		lang_show_number(out, v, type.is_signed);
}

void lang_show_inline(struct lang_host *h, struct lang_type type, const uint8_t *at, FILE *out)
{
	const char *stack = type.base == LANG_STACK ? lang_stack_line(h, word(at)) : "";

	if (stack[0])
		fprintf(out, "%s", stack);
	else
		show_typed(h, type, at, out);
}

void lang_show_name(struct lang_host *h, const struct lang_map *map, const struct lang_row *row, FILE *out)
{
	uint32_t at = 0, n = map->nkeys - (map->series_ns != 0);

	fprintf(out, "%s%s", map->name, n ? "[" : "");
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "%s", i ? ", " : "");
		show_typed(h, map->key[i], row->key + at, out);
		at += lang_size(map->key[i]);
	}
	fprintf(out, "%s", n ? "]" : "");
	if (row->arena > 0)
		fprintf(out, " (process %u, device %u)", gpubpf_arena_at(h->s, row->arena)->process,
			gpubpf_arena_at(h->s, row->arena)->device);
	fprintf(out, ":");
}

static uint64_t divided(uint64_t v, uint64_t div, bool is_signed)
{
	return lang_operate(LANG_T_DIV, v, div, is_signed);
}

static bool is_hist(const struct lang_map *map)
{
	return map->holds && (map->holds->id == LANG_F_HIST || map->holds->id == LANG_F_LHIST);
}

static void show_hist(const struct lang_map *map, const struct lang_row *row, FILE *out)
{
	struct gpubpf_hist_shape shape = {
		.n = map->value_size / 8,
		.width = 8,
		.step = map->step,
		.min = map->min,
		.zeros = !map->step,
		.bits = map->fine ? map->fine - 1 : 0,
		.each = true,
	};
	uint64_t slot[LANG_SLOTS] = { 0 };

	gpubpf_hist_add(&shape, row->value, slot);
	fprintf(out, "\n");
	gpubpf_hist_print(&shape, slot, out);
	fprintf(out, "\n");
}

static void show_value(struct lang_host *h, const struct lang_map *map, const struct lang_row *row, uint64_t div, FILE *out)
{
	bool is_signed = map->value.is_signed;

	fprintf(out, " ");
	if (map->holds && map->holds->id == LANG_F_STATS) {
		fprintf(out, "count %" PRIu64 ", average ", word(row->value));
		lang_show_number(out, divided(lang_row_number(map, row), div, is_signed), is_signed);
		fprintf(out, ", total ");
		lang_show_number(out, divided(word(row->value + 8), div, is_signed), is_signed);
	} else if (!map->holds && (map->value.base != LANG_INT || map->value.names)) {
		show_typed(h, map->value, row->value, out);
	} else {
		lang_show_number(out, divided(lang_row_number(map, row), div, is_signed), is_signed);
	}
	if (map->holds && (map->holds->id == LANG_F_MIN || map->holds->id == LANG_F_MAX) && word(row->value + 8))
		fprintf(out, " (%" PRIu64 " values were lost to contention)", word(row->value + 8));
	fprintf(out, "\n");
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct lang_map *map = arg;
	uint64_t x = lang_row_number(map, a), y = lang_row_number(map, b);
	const struct lang_row *first = a, *second = b;

	if (!map->holds && lang_is_in_memory(map->value))
		return memcmp(first->value, second->value, map->value_size);
	if (map->value.is_signed && !is_hist(map))
		return ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
	return (x > y) - (x < y);
}

/*
 * Order rows by key, numeric keys by number. The later sort by value is stable, so rows with equal values stay in this
 * order.
 */
static int by_key(const void *a, const void *b, void *arg)
{
	const struct lang_map *map = arg;
	const struct lang_row *x = a, *y = b;
	uint32_t at = 0;

	for (uint32_t i = 0; i < map->nkeys; i++) {
		bool in_memory = lang_is_in_memory(map->key[i]);
		uint64_t k = in_memory ? 0 : word(x->key + at), l = in_memory ? 0 : word(y->key + at);
		int order = in_memory             ? memcmp(x->key + at, y->key + at, lang_size(map->key[i])) :
			    map->key[i].is_signed ? ((int64_t)k > (int64_t)l) - ((int64_t)k < (int64_t)l) :
						    (k > l) - (k < l);

		if (order)
			return order;
		at += lang_size(map->key[i]);
	}
	return 0;
}

static int by_value_then_key(const void *a, const void *b, void *arg)
{
	int order = by_value(a, b, arg);

	return order ? order : by_key(a, b, arg);
}

void lang_show_map(struct lang_host *h, const struct lang_map *map, uint64_t top, uint64_t div, FILE *out)
{
	struct lang_rows rows;
	uint32_t first;

	if (lang_rows_read(h, map, &rows) < 0) {
		fprintf(out, "%s: out of memory\n", map->name);
		lang_rows_finish(&rows);
		return;
	}
	if (rows.n)
		qsort_r(rows.row, rows.n, sizeof(*rows.row), map->series_ns ? by_key : by_value_then_key, (void *)map);
	if (map->series_ns) {
		lang_show_series(h, map, &rows, out);
		lang_rows_finish(&rows);
		return;
	}
	first = top && top < rows.n ? rows.n - top : 0;
	for (uint32_t i = first; i < rows.n; i++) {
		lang_show_name(h, map, &rows.row[i], out);
		if (is_hist(map))
			show_hist(map, &rows.row[i], out);
		else
			show_value(h, map, &rows.row[i], div ? div : 1, out);
	}
	lang_rows_finish(&rows);
}
