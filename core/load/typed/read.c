/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses words of a command line to a key or value, the reverse of write.c. Neither words nor types are trusted:
 * every write is checked against the value's size, every number against its type's range.
 *
 *   one word for each byte, or "hex" before them: bytes, as in bpftool-map(8)
 *   .member=VALUE ...: members of a struct by path (.a.b, .c[2]); other members are zero
 *   VALUE ...: a number, an enumerator, text for an array of char; for another array one word an element
 *   { .member = VALUE, ... }, { VALUE, ... }: a struct or an array in one word, as printed, or as in JSON
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"
#include "typed.h"

#define MAX_MEMBERS (1u << 16) /* maximum members visited: types may contain one another many times */

struct reading {
	const struct btf *btf;
	uint8_t *data;
	size_t size;
	char *why;
	size_t why_size;
	uint32_t looked; /* members visited so far */
};

/* The target of a path: a type and its position in the value. */
struct spot {
	uint32_t type;
	uint64_t bit;
	uint32_t bits; /* number of bits of a bit field, else 0 */
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, r->why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static const struct btf_type *real_type(const struct reading *r, uint32_t type)
{
	int real = r->btf && type ? btf__resolve_type(r->btf, type) : -1;

	return real < 0 ? NULL : btf__type_by_id(r->btf, real);
}

static int put_bits(struct reading *r, uint64_t bit, uint32_t bits, uint64_t v)
{
	if (!bits || bits > 64 || bit + bits > (uint64_t)r->size * 8)
		return refuse(r, "its type does not fit into %zu bytes", r->size);
	for (uint32_t i = 0; i < bits; i++) {
		uint8_t *byte = &r->data[(bit + i) / 8], mask = 1u << ((bit + i) % 8);

		*byte = v >> i & 1 ? *byte | mask : *byte & ~mask;
	}
	return 0;
}

/* Parses an integer of `bits` bits, signed or not, in base 10, 16 (0x) or 8 (0). */
static int read_integer(struct reading *r, const char *word, uint32_t bits, bool is_signed, uint64_t *v)
{
	bool negative = word[0] == '-', fits;
	uint64_t max = bits < 64 ? (1ull << bits) - 1 : ~0ull;
	char *end;

	errno = 0;
	*v = strtoull(word + negative, &end, 0);
	if (word[negative] < '0' || word[negative] > '9' || *end)
		return refuse(r, "%s is not a number", *word ? word : "nothing");
	fits = is_signed ? *v <= (max >> 1) + negative : *v <= max && !negative;
	if (errno == ERANGE || !fits)
		return refuse(r, "%s does not fit into %s%u bits", word, is_signed ? "" : "unsigned ", bits);
	*v = negative ? -*v : *v;
	return 0;
}

static int read_int(struct reading *r, const struct btf_type *t, const struct spot *at, const char *word)
{
	uint8_t encoding = btf_int_encoding(t);
	uint32_t bits = at->bits ? at->bits : btf_int_bits(t);
	uint64_t v;
	int err = 0;

	if (bits > 64)
		return refuse(r, "its type has %u bits; write it as bytes", bits);
	if (encoding & BTF_INT_BOOL && (!strcmp(word, "true") || !strcmp(word, "false")))
		v = word[0] == 't';
	else
		err = read_integer(r, word, bits, encoding & BTF_INT_SIGNED, &v);
	return err < 0 ? err : put_bits(r, at->bit + btf_int_offset(t), bits, v);
}

static int read_enum(struct reading *r, const struct btf_type *t, const struct spot *at, const char *word)
{
	uint32_t bits = at->bits ? at->bits : t->size * 8;
	bool wide = btf_is_enum64(t);
	uint64_t v;
	int err;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(r->btf, wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off);

		if (name && !strcmp(name, word))
			return put_bits(r, at->bit, bits,
					wide ? btf_enum64_value(&btf_enum64(t)[i]) : (uint64_t)(int64_t)btf_enum(t)[i].val);
	}
	err = read_integer(r, word, bits, btf_kflag(t), &v);
	return err < 0 ? refuse(r, "%s is not an enumerator of its type", word) : put_bits(r, at->bit, bits, v);
}

static int read_float(struct reading *r, const struct btf_type *t, const struct spot *at, const char *word)
{
	union {
		uint64_t bits;
		double d;
		float f;
	} v = { 0 };
	char *end;
	double d = strtod(word, &end);

	if (end == word || *end)
		return refuse(r, "%s is not a number", word);
	if (t->size != 4 && t->size != 8)
		return refuse(r, "its type is a float of %u bytes; write it as bytes", t->size);
	if (t->size == 8)
		v.d = d;
	else
		v.f = (float)d;
	return put_bits(r, at->bit, t->size * 8, v.bits);
}

static bool is_char(const struct reading *r, uint32_t type)
{
	const struct btf_type *t = real_type(r, type);
	const char *name = t && btf_is_int(t) && t->size == 1 ? btf__name_by_offset(r->btf, t->name_off) : NULL;

	return name && !strcmp(name, "char");
}

static int read_text(struct reading *r, const struct btf_array *a, const struct spot *at, const char *word)
{
	size_t len = strlen(word);

	if (len > a->nelems)
		return refuse(r, "\"%s\" has %zu characters, but at most %u fit", word, len, a->nelems);
	if (at->bit % 8 || at->bit / 8 + a->nelems > r->size)
		return refuse(r, "its type does not fit into %zu bytes", r->size);
	memset(r->data + at->bit / 8, 0, a->nelems);
	memcpy(r->data + at->bit / 8, word, len);
	return 0;
}

static int read_scalar(struct reading *r, const struct spot *at, const char *word)
{
	const struct btf_type *t = real_type(r, at->type);
	uint64_t v;
	int err;

	switch (t ? btf_kind(t) : BTF_KIND_UNKN) {
	case BTF_KIND_INT:
		return read_int(r, t, at, word);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return read_enum(r, t, at, word);
	case BTF_KIND_FLOAT:
		return read_float(r, t, at, word);
	case BTF_KIND_PTR:
		err = read_integer(r, word, 64, false, &v);
		return err < 0 ? err : put_bits(r, at->bit, 64, v);
	case BTF_KIND_ARRAY:
		if (is_char(r, btf_array(t)->type))
			return read_text(r, btf_array(t), at, word);
		return refuse(r, "%s: it is an array; name one element, as in .x[0]=1", word);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return refuse(r, "%s: it is a struct; name its members, as in .x=1 or { .x = 1 }", word);
	default:
		return refuse(r, "%s: it has no type; write it as bytes", word);
	}
}

/* Finds the member of that name, also inside nameless members. */
static bool find_member(struct reading *r, const struct btf_type *t, const char *name, size_t len, uint64_t bit,
			int depth, struct spot *spot)
{
	for (uint32_t i = 0; i < btf_vlen(t) && depth < GPUBPF_TYPED_DEPTH && r->looked++ < MAX_MEMBERS; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *is = btf__name_by_offset(r->btf, m->name_off);
		const struct btf_type *mt = real_type(r, m->type);
		uint64_t at = bit + btf_member_bit_offset(t, i);

		if (is && is[0] && strlen(is) == len && !memcmp(is, name, len)) {
			*spot = (struct spot){ m->type, at, btf_member_bitfield_size(t, i) };
			return true;
		}
		if (is && !is[0] && mt && btf_is_composite(mt) && find_member(r, mt, name, len, at, depth + 1, spot))
			return true;
	}
	return false;
}

/* Finds the variable of that name in global data. */
static bool find_variable(const struct reading *r, const struct btf_type *t, const char *name, size_t len, struct spot *spot)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(t)[i];
		const struct btf_type *var = btf__type_by_id(r->btf, v->type);
		const char *is = var && btf_is_var(var) ? btf__name_by_offset(r->btf, var->name_off) : NULL;

		if (is && strlen(is) == len && !memcmp(is, name, len)) {
			*spot = (struct spot){ var->type, v->offset * 8ull, 0 };
			return true;
		}
	}
	return false;
}

static int step_member(struct reading *r, const char **path, struct spot *spot)
{
	const struct btf_type *section = r->btf && spot->type ? btf__type_by_id(r->btf, spot->type) : NULL;
	const struct btf_type *t = real_type(r, spot->type);
	const char *name = *path + 1;
	size_t len = strcspn(name, ".[=");

	*path = name + len;
	if (section && btf_is_datasec(section))
		return find_variable(r, section, name, len, spot) ?
			       0 :
			       refuse(r, "there is no variable %.*s", (int)len, name);
	if (t && btf_is_array(t))
		return refuse(r, "there is no member %.*s: it is an array; name one element, as in .x[0]=1", (int)len,
			      name);
	if (!t || !btf_is_composite(t) || !find_member(r, t, name, len, spot->bit, 0, spot))
		return refuse(r, "there is no member %.*s", (int)len, name);
	return 0;
}

static int step_element(struct reading *r, const char **path, struct spot *spot)
{
	const struct btf_type *t = real_type(r, spot->type);
	const struct btf_array *a = t && btf_is_array(t) ? btf_array(t) : NULL;
	int64_t size = a ? btf__resolve_size(r->btf, a->type) : -1;
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);

	if (*end != ']' || end == *path + 1 || size < 0 || i >= a->nelems)
		return refuse(r, "there is no element %.*s", (int)strcspn(*path, ".="), *path);
	*path = end + 1;
	*spot = (struct spot){ a->type, spot->bit + i * (uint64_t)size * 8, 0 };
	return 0;
}

/* -- a whole struct or array -- */

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t\n");
}

/*
 * Returns the word at *text, in quotes or up to a separator; the caller frees it. A member's name gets a leading dot.
 * NULL: out of memory.
 */
static char *take_word(const char **text, bool member)
{
	bool quoted = **text == '"';
	const char *s = *text + quoted;
	char *word = malloc(strlen(s) + 2);
	size_t n = 0;

	if (word && member && **text != '.')
		word[n++] = '.';
	for (; word && *s && !strchr(quoted ? "\"" : " \t\n,{}[]:=", *s); s++) {
		bool escaped = quoted && *s == '\\' && s[1];

		s += escaped;
		word[n++] = escaped && *s == 'n' ? '\n' : escaped && *s == 't' ? '\t' : *s;
	}
	if (word)
		word[n] = '\0';
	*text = s + (quoted && *s);
	return word;
}

/*
 * Parses .NAME = or "NAME": of the struct `at`, which becomes the member. A value in braces without a name holds
 * members of the struct itself.
 */
static int enter_member(struct reading *r, const char **text, struct spot *at)
{
	char *name = **text == '{' ? NULL : take_word(text, true);
	const char *path = name;
	int err = 0;

	if (**text == '{')
		return 0;
	*text = skip_space(*text);
	if (!name || (**text != '=' && **text != ':'))
		err = refuse(r, "%s: a member and its value are .NAME = VALUE", name ? name : "no memory");
	else
		err = step_member(r, &path, at);
	free(name);
	*text = err ? *text : skip_space(*text + 1);
	return err;
}

static int enter_element(struct reading *r, const struct btf_array *a, uint32_t i, struct spot *at)
{
	int64_t size = btf__resolve_size(r->btf, a->type);

	if (i >= a->nelems || size < 0)
		return refuse(r, "there is no element [%u]", i);
	*at = (struct spot){ a->type, at->bit + i * (uint64_t)size * 8, 0 };
	return 0;
}

static int read_each(struct reading *r, const struct spot *at, const char **text, int depth);

static int read_one(struct reading *r, const struct spot *at, const char **text, int depth)
{
	char *word;
	int err;

	if (**text == '{' || **text == '[')
		return read_each(r, at, text, depth);
	word = take_word(text, false);
	err = word ? read_scalar(r, at, word) : refuse(r, "there is no memory");
	free(word);
	return err;
}

/* Parses the elements between an opening bracket and its closing one. */
static int read_each(struct reading *r, const struct spot *at, const char **text, int depth)
{
	const struct btf_type *t = real_type(r, at->type);
	char end = **text == '{' ? '}' : ']';
	int err = depth < GPUBPF_TYPED_DEPTH ? 0 : refuse(r, "it is nested more than %d times", GPUBPF_TYPED_DEPTH);

	*text = skip_space(*text + 1);
	for (uint32_t i = 0; !err && **text != end; i++) {
		struct spot in = *at;

		err = t && btf_is_array(t) ? enter_element(r, btf_array(t), i, &in) : enter_member(r, text, &in);
		if (!err)
			err = read_one(r, &in, text, depth + 1);
		*text = skip_space(*text);
		if (!err && **text != ',' && **text != end)
			err = refuse(r, "%s: expected , or %c before it", **text ? *text : "nothing", end);
		*text = !err && **text == ',' ? skip_space(*text + 1) : *text;
	}
	*text += !err;
	return err;
}

static bool is_whole(const char *word)
{
	return word[0] == '{' || (word[0] == '[' && word[strlen(word) - 1] == ']');
}

static int read_whole(struct reading *r, const struct spot *at, const char *word)
{
	const char *s = word;
	int err = read_each(r, at, &s, 0);

	return !err && *skip_space(s) ? refuse(r, "%s follows the end of the value", skip_space(s)) : err;
}

/* Parses a word that is a whole struct or array, or one scalar. */
static int read_word(struct reading *r, const struct spot *at, const char *word)
{
	const struct btf_type *t = real_type(r, at->type);
	bool text = t && btf_is_array(t) && is_char(r, btf_array(t)->type);

	return is_whole(word) && t && (btf_is_composite(t) || btf_is_array(t)) && !text ? read_whole(r, at, word) :
											  read_scalar(r, at, word);
}

/* Parses a word of the form .path=VALUE. */
static int read_member(struct reading *r, uint32_t type, const char *word)
{
	struct spot spot = { .type = type };
	const char *path = word;
	int err = 0;

	while (!err && (*path == '.' || *path == '['))
		err = *path == '.' ? step_member(r, &path, &spot) : step_element(r, &path, &spot);
	if (!err && *path != '=')
		err = refuse(r, "%s: a member and its value are .NAME=VALUE", word);
	return err < 0 ? err : read_word(r, &spot, path + 1);
}

/* Parses a value without .path: one word for a scalar, one word per element for an array. */
static int read_plain(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	const struct btf_type *t = real_type(r, type);
	const struct btf_array *a = t && btf_is_array(t) ? btf_array(t) : NULL;
	int64_t size = a ? btf__resolve_size(r->btf, a->type) : -1;
	int err = 0;

	if (n == 1 && (is_whole(words[0]) || !(a && a->nelems == 1 && !is_char(r, a->type))))
		return read_word(r, &(struct spot){ .type = type }, words[0]);
	if (!a || a->nelems != n || size < 0)
		return refuse(r, "it has %zu bytes, not %u", r->size, n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = read_scalar(r, &(struct spot){ a->type, i * (uint64_t)size * 8, 0 }, words[i]);
	return err;
}

static int read_bytes(struct reading *r, const char *const *words, uint32_t n, int base)
{
	if (n != r->size)
		return refuse(r, "it has %zu bytes, not %u", r->size, n);
	for (uint32_t i = 0; i < n; i++) {
		char *end;
		unsigned long byte = strtoul(words[i], &end, base);

		if (end == words[i] || *end || byte > 255 || words[i][0] == '-')
			return refuse(r, "%s is not a byte", words[i]);
		r->data[i] = (uint8_t)byte;
	}
	return 0;
}

/* Do all words start with a digit? Then they are bytes; enumerators of a one-byte type do not start with one. */
static bool numbers(const char *const *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i][0] < '0' || words[i][0] > '9')
			return false;
	return true;
}

static int read_members(struct reading *r, uint32_t type, const char *const *words, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = read_member(r, type, words[i]);
	return err;
}

int gpubpf_typed_read(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data,
		      size_t size, char *why, size_t why_size)
{
	struct reading r = { .btf = btf, .data = data, .size = size, .why = why, .why_size = why_size };
	bool hex = n && !strcmp(words[0], "hex");

	memset(data, 0, size);
	if (!n)
		return refuse(&r, "it has %zu bytes, not 0", size);
	if (hex || (n == size && numbers(words, n)))
		return read_bytes(&r, words + hex, n - hex, hex ? 16 : 0);
	if (words[0][0] != '.' && (words[0][0] != '[' || is_whole(words[0])))
		return read_plain(&r, type, words, n);
	return read_members(&r, type, words, n);
}

int gpubpf_typed_change(const struct btf *btf, uint32_t type, const char *const *words, uint32_t n, void *data,
			size_t size, char *why, size_t why_size)
{
	struct reading r = { .btf = btf, .data = data, .size = size, .why = why, .why_size = why_size };

	return n == 1 && is_whole(words[0]) ? read_whole(&r, &(struct spot){ .type = type }, words[0]) :
					      read_members(&r, type, words, n);
}
