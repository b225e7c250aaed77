/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a word as a scalar: a number, an enumerator, text for an array of char. Some types of <gpubpf/probe.h> have
 * forms of their own: the name of a kernel, the text of a struct gpubpf_name, a duration.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"
#include "read.h"

int typed_refuse(struct reading *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, r->why_size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

const struct btf_type *typed_real_type(const struct reading *r, uint32_t type)
{
	int real = r->btf && type ? btf__resolve_type(r->btf, type) : -1;

	return real < 0 ? NULL : btf__type_by_id(r->btf, real);
}

int typed_put_bits(struct reading *r, uint64_t bit, uint32_t bits, uint64_t v)
{
	if (!bits || bits > 64 || bit + bits > (uint64_t)r->size * 8)
		return typed_refuse(r, "its type does not fit into %zu bytes", r->size);
	for (uint32_t i = 0; i < bits; i++) {
		uint8_t *byte = &r->data[(bit + i) / 8], mask = 1u << ((bit + i) % 8);

		*byte = v >> i & 1 ? *byte | mask : *byte & ~mask;
	}
	return 0;
}

/* Parses an integer of `bits` bits in base 10, 16 (0x) or 8 (0). */
static int read_integer(struct reading *r, const char *word, uint32_t bits, bool is_signed, uint64_t *v)
{
	bool negative = word[0] == '-', fits;
	uint64_t max = bits < 64 ? (1ull << bits) - 1 : ~0ull;
	char *end;

	errno = 0;
	*v = strtoull(word + negative, &end, 0);
	if (word[negative] < '0' || word[negative] > '9' || *end)
		return typed_refuse(r, "%s is not a number", *word ? word : "nothing");
	fits = is_signed ? *v <= (max >> 1) + negative : *v <= max && !negative;
	if (errno == ERANGE || !fits)
		return typed_refuse(r, "%s does not fit into %s%u bits", word, is_signed ? "" : "unsigned ", bits);
	*v = negative ? -*v : *v;
	return 0;
}

/* Parses bytes in base 16 in one word, as write.c prints a value without a special form. */
static int read_bytes(struct reading *r, const struct spot *at, size_t size, const char *word)
{
	if (at->bit % 8 || at->bit / 8 + size > r->size)
		return typed_refuse(r, "its type does not fit into %zu bytes", r->size);
	if (!typed_read_hex(word, size, r->data + at->bit / 8))
		return typed_refuse(r, "%s: write its %zu bytes in base 16, separated by blanks", word, size);
	return 0;
}

static int read_int(struct reading *r, const struct btf_type *t, const struct spot *at, const char *word)
{
	uint8_t encoding = btf_int_encoding(t);
	uint32_t bits = at->bits ? at->bits : btf_int_bits(t);
	uint64_t v;
	int err = 0;

	if (bits > 64)
		return read_bytes(r, at, (bits + 7) / 8, word);
	if (encoding & BTF_INT_BOOL && (!strcmp(word, "true") || !strcmp(word, "false")))
		v = word[0] == 't';
	else
		err = read_integer(r, word, bits, encoding & BTF_INT_SIGNED, &v);
	return err < 0 ? err : typed_put_bits(r, at->bit + btf_int_offset(t), bits, v);
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
			return typed_put_bits(r, at->bit, bits,
					      wide ? btf_enum64_value(&btf_enum64(t)[i]) :
						     (uint64_t)(int64_t)btf_enum(t)[i].val);
	}
	err = read_integer(r, word, bits, btf_kflag(t), &v);
	return err < 0 ? typed_refuse(r, "%s is not an enumerator of its type", word) :
			 typed_put_bits(r, at->bit, bits, v);
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
		return typed_refuse(r, "%s is not a number", word);
	if (t->size != 4 && t->size != 8)
		return typed_refuse(r, "its type is a float of %u bytes; write it as bytes", t->size);
	if (__builtin_isinf(t->size == 8 ? d : (double)(float)d) && !strpbrk(word, "iI"))
		return typed_refuse(r, "%s does not fit into %u bits", word, 8 * t->size);
	if (t->size == 8)
		v.d = d;
	else
		v.f = (float)d;
	return typed_put_bits(r, at->bit, t->size * 8, v.bits);
}

bool typed_is_char(const struct reading *r, uint32_t type)
{
	const struct btf_type *t = typed_real_type(r, type);
	const char *name = t && btf_is_int(t) && t->size == 1 ? btf__name_by_offset(r->btf, t->name_off) : NULL;

	return name && !strcmp(name, "char");
}

static int read_text(struct reading *r, const struct btf_array *a, const struct spot *at, const char *word)
{
	size_t len = strlen(word);

	if (len > a->nelems)
		return typed_refuse(r, "\"%s\" has %zu characters, but at most %u fit", word, len, a->nelems);
	if (at->bit % 8 || at->bit / 8 + a->nelems > r->size)
		return typed_refuse(r, "its type does not fit into %zu bytes", r->size);
	memset(r->data + at->bit / 8, 0, a->nelems);
	memcpy(r->data + at->bit / 8, word, len);
	return 0;
}

bool typed_is_text(const struct reading *r, uint32_t type)
{
	const struct btf_type *t = typed_real_type(r, type);

	return t && ((btf_is_array(t) && typed_is_char(r, btf_array(t)->type)) ||
		     gpubpf_typed_is(r->btf, type, "gpubpf_name"));
}

bool typed_read_hex(const char *text, size_t size, uint8_t *bytes)
{
	size_t n = 0;
	char *end;

	for (text += strspn(text, " "); *text; text = end + strspn(end, " "), n++) {
		unsigned long byte = strtoul(text, &end, 16);

		if (!strchr("0123456789abcdefABCDEF", *text) || end == text || end - text > 4 || byte > 255 ||
		    (*end && *end != ' ') || n == size)
			return false;
		bytes[n] = (uint8_t)byte;
	}
	return n == size;
}

/* -- the types of <gpubpf/probe.h> that write.c shows in a form of their own -- */

/*
 * Parses the name of a kernel to its id. This function, and the two below, return 1 if the word has their form, 0 if it
 * is something else, or -EINVAL.
 */
static int read_kernel(struct reading *r, const struct spot *at, const char *word)
{
	uint32_t bits = gpubpf_typed_is(r->btf, at->type, "gpubpf_kernel")       ? 64 :
			gpubpf_typed_is(r->btf, at->type, "gpubpf_kernel_index") ? 32 :
										   0;
	uint64_t id;
	int is = bits && r->names ? r->names->kernel(r->names->ctx, word, &id, r->why, r->why_size) : 0;
	int err = is > 0 ? typed_put_bits(r, at->bit, bits, id) : 0;

	return err < 0 ? err : is;
}

static int read_name(struct reading *r, const struct spot *at, const char *word)
{
	int64_t size = gpubpf_typed_is(r->btf, at->type, "gpubpf_name") ? btf__resolve_size(r->btf, at->type) : -1;

	if (size < 0 || !word[0] || strchr("{.", word[0]))
		return 0;
	if ((int64_t)strlen(word) >= size)
		return typed_refuse(r, "\"%s\" has %zu characters, but at most %lld fit", word, strlen(word),
				    (long long)size - 1);
	if (at->bit % 8 || at->bit / 8 + (uint64_t)size > r->size)
		return typed_refuse(r, "its type does not fit into %zu bytes", r->size);
	memset(r->data + at->bit / 8, 0, size);
	memcpy(r->data + at->bit / 8, word, strlen(word));
	return 1;
}

/* Parses a duration with a unit, such as 1.2 ms. A number without a unit is in nanoseconds, which read_int() parses. */
static int read_duration(struct reading *r, const struct spot *at, const char *word)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double n = strtod(word, &end);
	int err;

	end += strspn(end, " ");
	if (end == word || word[0] < '0' || word[0] > '9' || !gpubpf_typed_is(r->btf, at->type, "gpubpf_ns"))
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (!(n * units[i].ns < 0x1p63))
			return typed_refuse(r, "%s does not fit into 64 bits of nanoseconds", word);
		err = typed_put_bits(r, at->bit, 64, (uint64_t)(n * units[i].ns + .5));
		return err < 0 ? err : 1;
	}
	return 0;
}

/* Parses a minimum, which is stored as its complement; none is stored as 0. */
static int read_minimum(struct reading *r, const struct spot *at, const char *word)
{
	uint64_t v = UINT64_MAX;
	int err = 0;

	if (!gpubpf_typed_is(r->btf, at->type, "gpubpf_minimum"))
		return 0;
	if (strcmp(word, "none"))
		err = read_integer(r, word, 64, false, &v);
	err = err < 0 ? err : typed_put_bits(r, at->bit, 64, ~v);
	return err < 0 ? err : 1;
}

static int read_meaning(struct reading *r, const struct spot *at, const char *word)
{
	int is;

	if (!r->btf || !at->type || at->bits)
		return 0;
	is = read_kernel(r, at, word);
	is = is ? is : read_name(r, at, word);
	is = is ? is : read_minimum(r, at, word);
	return is ? is : read_duration(r, at, word);
}

int typed_read_scalar(struct reading *r, const struct spot *at, const char *word)
{
	const struct btf_type *t = typed_real_type(r, at->type);
	uint64_t v;
	int err = read_meaning(r, at, word);

	if (err)
		return err < 0 ? err : 0;
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
		return err < 0 ? err : typed_put_bits(r, at->bit, 64, v);
	case BTF_KIND_ARRAY:
		if (typed_is_char(r, btf_array(t)->type))
			return read_text(r, btf_array(t), at, word);
		return typed_refuse(r, "%s: it is an array; name one element, as in .x[0]=1", word);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return typed_refuse(r, "%s: it is a struct; name its members, as in .x=1 or { .x = 1 }", word);
	default:
		return typed_refuse(r, "%s: it has no type; write it as bytes", word);
	}
}
