/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a typed value as text, in the form of a C initializer, and as JSON. */
#include "hist.h"
#include "core/load/load.h"
#include "typed.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <json-c/json.h>

#include "core/model/text/duration.h"

/* --- text --- */

__attribute__((format(printf, 2, 3))) static void text_put(struct typed_writer *w, const char *fmt, ...)
{
	size_t left = w->at < w->room ? w->room - w->at : 0;
	va_list ap;

	va_start(ap, fmt);
	w->at += vsnprintf(left ? w->buf + w->at : NULL, left, fmt, ap);
	va_end(ap);
}

static void write_text_name(struct typed_writer *w, const char *name)
{
	text_put(w, "%s%s%s%s", w->first ? "" : w->depth ? ", " : "", name[0] ? "." : "", name, name[0] ? " = " : "");
	w->first = false;
}

static void write_text_open(struct typed_writer *w, const char *name, bool array)
{
	write_text_name(w, name);
	text_put(w, "{ ");
	w->first = true;
	w->depth++;
}

static void write_text_close(struct typed_writer *w)
{
	text_put(w, w->first ? "}" : " }");
	w->first = false;
	w->depth--;
}

static void write_text_integer(struct typed_writer *w, const char *name, uint64_t v, bool is_signed)
{
	write_text_name(w, name);
	if (is_signed)
		text_put(w, "%" PRId64, (int64_t)v);
	else
		text_put(w, "%" PRIu64, v);
}

static void write_text_boolean(struct typed_writer *w, const char *name, bool v)
{
	write_text_name(w, name);
	text_put(w, v ? "true" : "false");
}

static void write_text_real(struct typed_writer *w, const char *name, double v)
{
	write_text_name(w, name);
	text_put(w, "%.9g", v);
}

static void write_text_string(struct typed_writer *w, const char *name, const char *s, size_t len)
{
	write_text_name(w, name);
	text_put(w, "\"");
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\n')
			text_put(w, "\\n");
		else if (s[i] == '\t')
			text_put(w, "\\t");
		else
			text_put(w, s[i] == '"' || s[i] == '\\' ? "\\%c" : "%c", s[i]);
	}
	text_put(w, "\"");
}

static void write_text_word(struct typed_writer *w, const char *name, const char *s)
{
	write_text_name(w, name);
	text_put(w, "%s", s);
}

static void write_text_hist(struct typed_writer *w, const char *name, const struct gpubpf_hist_shape *shape,
			    const uint64_t *slot)
{
	uint64_t n = gpubpf_hist_count(shape, slot);

	write_text_name(w, name);
	if (!n)
		text_put(w, "<no values>");
	else
		text_put(w, "<%" PRIu64 " values, p50 %" PRIu64 ", p90 %" PRIu64 ", p99 %" PRIu64 ">", n,
			 gpubpf_hist_percentile(shape, slot, 50), gpubpf_hist_percentile(shape, slot, 90),
			 gpubpf_hist_percentile(shape, slot, 99));
}

static void write_text_duration(struct typed_writer *w, const char *name, uint64_t ns)
{
	char text[24];

	write_text_word(w, name, gpubpf_duration(ns, text));
}

static void write_text_repeats(struct typed_writer *w, uint32_t n)
{
	text_put(w, " <repeats %u times>", n);
}

const struct typed_ops gpubpf_typed_text_ops = {
	write_text_open, write_text_close,  write_text_integer, write_text_boolean,
	write_text_real, write_text_string, write_text_word,    write_text_duration,
	write_text_hist, typed_args_text,   write_text_repeats, write_text_word,
};

/* --- JSON --- */

static void write_json_add(struct typed_writer *w, const char *name, struct json_object *value)
{
	struct json_object *top = w->stack[w->depth];

	if (!top)
		w->stack[w->depth] = value;
	else if (json_object_is_type(top, json_type_array))
		json_object_array_add(top, value);
	else
		json_object_object_add(top, name, value);
}

/* Opens an object or array. stack[0] is the whole value; stack[d] is the open object or array at depth d. */
static void write_json_open(struct typed_writer *w, const char *name, bool array)
{
	struct json_object *value = array ? json_object_new_array() : json_object_new_object();

	write_json_add(w, name, value);
	w->stack[++w->depth] = value;
}

static void write_json_close(struct typed_writer *w)
{
	w->stack[w->depth--] = NULL;
}

struct json_object *gpubpf_json_int(uint64_t v, bool is_signed, bool wide_as_text)
{
	bool negative = is_signed && (int64_t)v < 0;
	uint64_t size = negative ? -v : v;
	char text[24];

	if (!wide_as_text || size <= 1ull << 53)
		return is_signed ? json_object_new_int64((int64_t)v) : json_object_new_uint64(v);
	snprintf(text, sizeof(text), "%s%" PRIu64, negative ? "-" : "", size);
	return json_object_new_string(text);
}

static void write_json_integer(struct typed_writer *w, const char *name, uint64_t v, bool is_signed)
{
	write_json_add(w, name, gpubpf_json_int(v, is_signed, w->names && w->names->wide_as_text));
}

static void write_json_duration(struct typed_writer *w, const char *name, uint64_t ns)
{
	write_json_integer(w, name, ns, false);
}

static void write_json_boolean(struct typed_writer *w, const char *name, bool v)
{
	write_json_add(w, name, json_object_new_boolean(v));
}

/* Writes a floating-point number. JSON has no infinities and NaN, so they are written as strings. */
static void write_json_real(struct typed_writer *w, const char *name, double v)
{
	bool finite = v - v == 0;

	write_json_add(w, name,
		       finite ? json_object_new_double(v) :
				json_object_new_string(v != v ? "nan" :
						       v > 0  ? "inf" :
								"-inf"));
}

static void write_json_string(struct typed_writer *w, const char *name, const char *s, size_t len)
{
	write_json_add(w, name, json_object_new_string_len(s, (int)len));
}

static void write_json_word(struct typed_writer *w, const char *name, const char *s)
{
	write_json_add(w, name, json_object_new_string(s));
}

struct json_object *gpubpf_hist_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < shape->n; i++) {
		struct json_object *o;
		uint64_t low, high;

		if (!slot[i])
			continue;
		gpubpf_hist_bounds(shape, i, &low, &high);
		o = json_object_new_object();
		json_object_object_add(o, "min", gpubpf_json_int(low, false, wide_as_text));
		json_object_object_add(o, "max", gpubpf_json_int(high, false, wide_as_text));
		json_object_object_add(o, "count", gpubpf_json_int(slot[i], false, wide_as_text));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *gpubpf_percentiles_json(const struct gpubpf_hist_shape *shape, const uint64_t *slot, bool wide_as_text)
{
	static const unsigned int percents[] = { 50, 90, 99 };
	struct json_object *o = json_object_new_object();
	char name[8];

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]) && gpubpf_hist_count(shape, slot); i++) {
		snprintf(name, sizeof(name), "p%u", percents[i]);
		json_object_object_add(o, name,
				       gpubpf_json_int(gpubpf_hist_percentile(shape, slot, percents[i]), false,
						       wide_as_text));
	}
	return o;
}

static void write_json_hist(struct typed_writer *w, const char *name, const struct gpubpf_hist_shape *shape,
			    const uint64_t *slot)
{
	struct json_object *o = json_object_new_object();
	bool wide_as_text = w->names && w->names->wide_as_text;

	json_object_object_add(o, "count", gpubpf_json_int(gpubpf_hist_count(shape, slot), false, wide_as_text));
	json_object_object_add(o, "histogram", gpubpf_hist_json(shape, slot, wide_as_text));
	json_object_object_add(o, "percentiles", gpubpf_percentiles_json(shape, slot, wide_as_text));
	write_json_add(w, name, o);
}

const struct typed_ops gpubpf_typed_json_ops = {
	write_json_open,
	write_json_close,
	write_json_integer,
	write_json_boolean,
	write_json_real,
	write_json_string,
	write_json_word,
	write_json_duration,
	write_json_hist,
	typed_args_json,
	NULL,
	NULL,
};
