/* SPDX-License-Identifier: Apache-2.0 */
/* A typed value as text, in the manner of a C initialiser, and as JSON. */
#include "typed.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <json-c/json.h>

/* --- text --- */

__attribute__((format(printf, 2, 3))) static void text_put(struct typed_writer *w, const char *fmt, ...)
{
	size_t left = w->at < w->room ? w->room - w->at : 0;
	va_list ap;

	va_start(ap, fmt);
	w->at += vsnprintf(left ? w->buf + w->at : NULL, left, fmt, ap);
	va_end(ap);
}

static void text_name(struct typed_writer *w, const char *name)
{
	text_put(w, "%s%s%s%s", w->first ? "" : w->depth ? ", " : "", name[0] ? "." : "", name, name[0] ? " = " : "");
	w->first = false;
}

static void text_open(struct typed_writer *w, const char *name, bool array)
{
	text_name(w, name);
	text_put(w, "{ ");
	w->first = true;
	w->depth++;
}

static void text_close(struct typed_writer *w)
{
	text_put(w, w->first ? "}" : " }");
	w->first = false;
	w->depth--;
}

static void text_integer(struct typed_writer *w, const char *name, uint64_t v, bool is_signed)
{
	text_name(w, name);
	if (is_signed)
		text_put(w, "%" PRId64, (int64_t)v);
	else
		text_put(w, "%" PRIu64, v);
}

static void text_boolean(struct typed_writer *w, const char *name, bool v)
{
	text_name(w, name);
	text_put(w, v ? "true" : "false");
}

static void text_real(struct typed_writer *w, const char *name, double v)
{
	text_name(w, name);
	text_put(w, "%.9g", v);
}

static void text_string(struct typed_writer *w, const char *name, const char *s, size_t len)
{
	text_name(w, name);
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

static void text_word(struct typed_writer *w, const char *name, const char *s)
{
	text_name(w, name);
	text_put(w, "%s", s);
}

const struct typed_ops gpubpf_typed_text_ops = {
	text_open, text_close, text_integer, text_boolean, text_real, text_string, text_word,
};

/* --- JSON --- */

static void json_add(struct typed_writer *w, const char *name, struct json_object *value)
{
	struct json_object *top = w->stack[w->depth];

	if (!top)
		w->stack[w->depth] = value;
	else if (json_object_is_type(top, json_type_array))
		json_object_array_add(top, value);
	else
		json_object_object_add(top, name, value);
}

/* stack[0] is the whole value; stack[d] what is open at depth d. */
static void json_open(struct typed_writer *w, const char *name, bool array)
{
	struct json_object *value = array ? json_object_new_array() : json_object_new_object();

	json_add(w, name, value);
	w->stack[++w->depth] = value;
}

static void json_close(struct typed_writer *w)
{
	w->stack[w->depth--] = NULL;
}

static void json_integer(struct typed_writer *w, const char *name, uint64_t v, bool is_signed)
{
	json_add(w, name, is_signed ? json_object_new_int64((int64_t)v) : json_object_new_uint64(v));
}

static void json_boolean(struct typed_writer *w, const char *name, bool v)
{
	json_add(w, name, json_object_new_boolean(v));
}

/* JSON has no infinities and no NaN. */
static void json_real(struct typed_writer *w, const char *name, double v)
{
	bool finite = v - v == 0;

	json_add(w, name, finite ? json_object_new_double(v) :
				   json_object_new_string(v != v ? "nan" : v > 0 ? "inf" : "-inf"));
}

static void json_string(struct typed_writer *w, const char *name, const char *s, size_t len)
{
	json_add(w, name, json_object_new_string_len(s, (int)len));
}

static void json_word(struct typed_writer *w, const char *name, const char *s)
{
	json_add(w, name, json_object_new_string(s));
}

const struct typed_ops gpubpf_typed_json_ops = {
	json_open, json_close, json_integer, json_boolean, json_real, json_string, json_word,
};
