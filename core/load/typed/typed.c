/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats values by their BTF type. The code walks over type and bytes together, and calls one of two writers
 * (write.c). Neither type nor bytes are trusted: every read is checked against the value's size, and depth and number
 * of scalars are limited. A value that does not fit its type is written as hex bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <json-c/json.h>

#include "hist.h"
#include "core/load/load.h"
#include "typed.h"

#define MAX_SCALARS (1u << 20)
#define GPUBPF_TYPED_ARGS 32 /* maximum number of arguments in struct gpubpf_args */
#define MANY_ZEROS 8    /* minimum number of consecutive zero elements of an array that are abbreviated */

static void walk(struct typed_writer *w, uint32_t id, const char *name, uint64_t bit, int depth);

/* Reads up to 64 bits at bit offset `bit`, little-endian. Returns false if a bit lies outside of the value. */
static bool read_bits(struct typed_writer *w, uint64_t bit, uint32_t bits, uint64_t *out)
{
	uint64_t v = 0;

	if (!bits || bits > 64 || bit + bits > (uint64_t)w->size * 8)
		return false;
	*out = 0;
	if (bit % 8 == 0 && bits % 8 == 0) {
		memcpy(out, w->data + bit / 8, bits / 8);
		return true;
	}
	for (uint32_t i = 0; i < bits; i++)
		v |= (uint64_t)(w->data[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
	*out = v;
	return true;
}

static void write_hex(struct typed_writer *w, const char *name, const uint8_t *data, size_t size)
{
	char *text = malloc(3 * size + 1), *at = text;

	if (!text) {
		w->bad = true;
		return;
	}
	*at = '\0';
	for (size_t i = 0; i < size; i++)
		at += sprintf(at, i ? " %02x" : "%02x", data[i]);
	w->ops->word(w, name, text);
	free(text);
}

/* Writes a scalar as hex bytes if it has no numeric form here (128-bit integers, extended floats). */
static void walk_bytes(struct typed_writer *w, const char *name, uint64_t bit, uint32_t size)
{
	if (bit % 8 || bit / 8 + size > w->size)
		w->bad = true;
	else
		write_hex(w, name, w->data + bit / 8, size);
}

static void walk_int(struct typed_writer *w, const struct btf_type *t, const char *name, uint64_t bit, uint32_t bits)
{
	uint8_t encoding = btf_int_encoding(t);
	uint64_t v;

	bit += btf_int_offset(t);
	if (!bits)
		bits = btf_int_bits(t);
	if (bits > 64) {
		walk_bytes(w, name, bit, (bits + 7) / 8);
		return;
	}
	if (!read_bits(w, bit, bits, &v)) {
		w->bad = true;
		return;
	}
	if (encoding & BTF_INT_SIGNED && bits < 64 && v >> (bits - 1))
		v |= ~0ull << bits;
	if (encoding & BTF_INT_BOOL)
		w->ops->boolean(w, name, v != 0);
	else
		w->ops->integer(w, name, v, encoding & BTF_INT_SIGNED);
}

static const char *find_enumerator(const struct btf *btf, const struct btf_type *t, uint64_t v, uint32_t bits)
{
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : ~0ull;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		bool wide = btf_is_enum64(t);
		uint64_t value = wide ? btf_enum64_value(&btf_enum64(t)[i]) : (uint64_t)(int64_t)btf_enum(t)[i].val;

		if ((value & mask) == (v & mask))
			return btf__name_by_offset(btf, wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off);
	}
	return NULL;
}

static void walk_enum(struct typed_writer *w, const struct btf_type *t, const char *name, uint64_t bit, uint32_t bits)
{
	bool is_signed = btf_kflag(t);
	const char *known;
	uint64_t v;

	if (!bits)
		bits = t->size * 8;
	if (!read_bits(w, bit, bits, &v)) {
		w->bad = true;
		return;
	}
	if (is_signed && bits < 64 && v >> (bits - 1))
		v |= ~0ull << bits;
	known = find_enumerator(w->btf, t, v, bits);
	if (known)
		w->ops->word(w, name, known);
	else
		w->ops->integer(w, name, v, is_signed);
}

static double convert_half(uint16_t h)
{
	int e = h >> 10 & 31;
	double m = h & 1023, v = e == 31 ? (m ? __builtin_nan("") : __builtin_inf()) :
				 e       ? (1024 + m) / 1024 * (e >= 15 ? 1 << (e - 15) : 1.0 / (1 << (15 - e))) :
					   m / 1024 / 16384;

	return h >> 15 ? -v : v;
}

static void walk_float(struct typed_writer *w, const struct btf_type *t, const char *name, uint64_t bit)
{
	union {
		uint64_t bits;
		double d;
		float f;
		uint16_t h;
	} v;

	if (t->size != 2 && t->size != 4 && t->size != 8) {
		walk_bytes(w, name, bit, t->size);
		return;
	}
	if (!read_bits(w, bit, t->size * 8, &v.bits))
		w->bad = true;
	else
		w->ops->real(w, name, t->size == 8 ? v.d : t->size == 4 ? (double)v.f : convert_half(v.h));
}

static void walk_ptr(struct typed_writer *w, const char *name, uint64_t bit)
{
	char text[32];
	uint64_t v;

	if (!read_bits(w, bit, 64, &v)) {
		w->bad = true;
		return;
	}
	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	w->ops->word(w, name, text);
}

static bool is_char(const struct btf *btf, uint32_t id)
{
	int real = btf__resolve_type(btf, id);
	const struct btf_type *t = real < 0 ? NULL : btf__type_by_id(btf, real);
	const char *name = t && btf_is_int(t) && t->size == 1 ? btf__name_by_offset(btf, t->name_off) : NULL;

	return name && !strcmp(name, "char");
}

/*
 * Returns true if an array of char holds text: printable bytes, followed only by zeros. *len receives the length of the
 * text.
 */
static bool is_text(const uint8_t *s, uint32_t n, size_t *len)
{
	uint32_t i = 0;

	while (i < n && ((s[i] >= ' ' && s[i] <= '~') || s[i] == '\n' || s[i] == '\t'))
		i++;
	*len = i;
	while (i < n && !s[i])
		i++;
	return i == n;
}

/* Returns the number of consecutive all-zero elements from element i on. */
static uint32_t zero_elements(const uint8_t *data, uint32_t n, uint64_t size, uint32_t i)
{
	uint32_t first = i;
	uint64_t at = i * size, end = n * size;

	while (at < end && !data[at])
		at++;
	i = at / size;
	return i - first;
}

static void walk_array(struct typed_writer *w, const struct btf_type *t, const char *name, uint64_t bit, int depth)
{
	const struct btf_array *a = btf_array(t);
	int64_t size = btf__resolve_size(w->btf, a->type);
	size_t len;

	if (size < 0 || bit % 8 || (uint64_t)size * a->nelems > w->size - bit / 8 || (!size && a->nelems > MAX_SCALARS)) {
		w->bad = true;
		return;
	}
	if (is_char(w->btf, a->type) && is_text(w->data + bit / 8, a->nelems, &len)) {
		w->ops->string(w, name, (const char *)w->data + bit / 8, len);
		return;
	}
	w->ops->open(w, name, true);
	for (uint32_t i = 0; i < a->nelems && !w->bad; i++) {
		uint32_t n = w->ops->repeats && size ? zero_elements(w->data + bit / 8, a->nelems, size, i) : 0;

		walk(w, a->type, "", bit + (uint64_t)i * size * 8, depth + 1);
		if (n < MANY_ZEROS)
			continue;
		w->ops->repeats(w, n);
		i += n - 1;
	}
	w->ops->close(w);
}

static void walk_hist(struct typed_writer *w, const struct gpubpf_hist_shape *shape, const char *name, uint64_t bit)
{
	uint64_t slot[GPUBPF_HIST_SLOTS] = { 0 };

	gpubpf_hist_add(shape, w->data + bit / 8, slot);
	w->ops->hist(w, name, shape, slot);
}

static void walk_kernel(struct typed_writer *w, const char *name, uint64_t id)
{
	const char *kernel = w->names && w->names->kernel ? w->names->kernel(w->names->ctx, id) : NULL;

	if (kernel && kernel[0])
		w->ops->word(w, name, kernel);
	else
		w->ops->integer(w, name, id, false);
}

static void walk_stack(struct typed_writer *w, const char *name, const char *(*of)(void *ctx, uint64_t id), uint64_t id)
{
	const char *stack = of ? of(w->names->ctx, id) : NULL;

	if (stack && stack[0])
		w->ops->word(w, name, stack);
	else
		w->ops->integer(w, name, id, true);
}

/*
 * Writes a struct gpubpf_args, which has a GPU kernel's id, the number of its arguments, and the values of the first
 * arguments.
 */
static bool walk_args(struct typed_writer *w, const char *name, uint64_t bit, int64_t size)
{
	uint64_t word[2 + GPUBPF_TYPED_ARGS];
	const struct gpubpf_typed_param *params;
	const struct gpubpf_typed_names *names = w->names;
	uint32_t n = GPUBPF_TYPED_ARGS, known = 0;

	if (size != sizeof(word) || bit % 8 || (size_t)size > w->size - bit / 8)
		return false;
	memcpy(word, w->data + bit / 8, sizeof(word));
	params = names && names->params ? names->params(names->ctx, word[0], &known) : NULL;
	n = word[1] < n ? word[1] : n;
	w->ops->args(w, name, names && names->kernel ? names->kernel(names->ctx, word[0]) : "",
		     params && known >= n ? params : NULL, word + 2, n);
	return true;
}

/* Writes a struct gpubpf_name as a name. Returns false if its bytes are not valid text. */
static bool walk_name(struct typed_writer *w, const char *name, uint64_t bit, int64_t size)
{
	char text[256];
	size_t len;

	if (!w->ops->bare || size <= 0 || (size_t)size >= sizeof(text) || (size_t)size > w->size - bit / 8 ||
	    !is_text(w->data + bit / 8, size, &len) || !len)
		return false;
	memcpy(text, w->data + bit / 8, len);
	text[len] = '\0';
	w->ops->bare(w, name, text);
	return true;
}

/*
 * Returns false if walk_meaning() knows no type of this name. This quick test avoids look-ups for most types; a map may
 * have millions of values.
 */
static bool can_have_meaning(const struct btf *btf, uint32_t type)
{
	for (int depth = 0; depth < GPUBPF_TYPED_DEPTH; depth++) {
		const struct btf_type *t = btf__type_by_id(btf, type);
		const char *is = t ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (is && (!strncmp(is, "gpubpf_", 7) || !strcmp(is, "uintptr_t")))
			return true;
		if (!t || !(btf_is_typedef(t) || btf_is_mod(t)))
			return false;
		type = t->type;
	}
	return false;
}

/* Writes a minimum, which is stored as its complement. 0: there is none yet. */
static void walk_minimum(struct typed_writer *w, const char *name, uint64_t v)
{
	if (v)
		w->ops->integer(w, name, ~v, false);
	else
		w->ops->word(w, name, "none");
}

/* Writes a value of a type of <gpubpf/probe.h> in its special form. Returns false if the type has no special form. */
static bool walk_meaning(struct typed_writer *w, uint32_t id, const char *name, uint64_t bit)
{
	struct gpubpf_hist_shape shape;
	uint64_t v;

	if (bit % 8 || bit / 8 > w->size)
		return false;
	if (gpubpf_hist_type(w->btf, id, &shape) && shape.n * (uint64_t)shape.width <= w->size - bit / 8)
		walk_hist(w, &shape, name, bit);
	else if (!can_have_meaning(w->btf, id))
		return false;
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_kernel") && read_bits(w, bit, 64, &v))
		walk_kernel(w, name, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_kernel_index") && read_bits(w, bit, 32, &v))
		walk_kernel(w, name, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_stack") && read_bits(w, bit, 64, &v))
		walk_stack(w, name, w->names ? w->names->stack : NULL, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_stack_number") && read_bits(w, bit, 32, &v))
		walk_stack(w, name, w->names ? w->names->stack_numbered : NULL, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_minimum") && read_bits(w, bit, 64, &v))
		walk_minimum(w, name, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_ns") && read_bits(w, bit, 64, &v))
		w->ops->duration(w, name, v);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_address") || gpubpf_typed_is(w->btf, id, "uintptr_t"))
		walk_ptr(w, name, bit);
	else if (gpubpf_typed_is(w->btf, id, "gpubpf_args"))
		return walk_args(w, name, bit, btf__resolve_size(w->btf, id));
	else
		return gpubpf_typed_is(w->btf, id, "gpubpf_name") &&
		       walk_name(w, name, bit, btf__resolve_size(w->btf, id));
	return true;
}

/* Writes the members of a struct or union. Members of an anonymous member are written like members of its parent. */
static void walk_members(struct typed_writer *w, const struct btf_type *t, uint64_t bit, int depth)
{
	for (uint32_t i = 0; i < btf_vlen(t) && !w->bad; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(w->btf, m->name_off);
		uint32_t bits = btf_member_bitfield_size(t, i);
		uint64_t at = bit + btf_member_bit_offset(t, i);
		int real = btf__resolve_type(w->btf, m->type);
		const struct btf_type *mt = real < 0 ? NULL : btf__type_by_id(w->btf, real);

		if (!mt || !name || depth >= GPUBPF_TYPED_DEPTH || ++w->scalars > MAX_SCALARS)
			w->bad = true;
		else if (!name[0] && btf_is_composite(mt))
			walk_members(w, mt, at, depth + 1);
		else if (!name[0])
			continue; /* an unnamed bit field: padding */
		else if (bits && btf_is_int(mt))
			walk_int(w, mt, name, at, bits);
		else if (bits && btf_is_any_enum(mt))
			walk_enum(w, mt, name, at, bits);
		else
			walk(w, m->type, name, at, depth + 1);
	}
}

/* Writes global data, that is the variables of a data section. */
static void walk_datasec(struct typed_writer *w, const struct btf_type *t, uint64_t bit, int depth)
{
	for (uint32_t i = 0; i < btf_vlen(t) && !w->bad; i++) {
		const struct btf_var_secinfo *var = &btf_var_secinfos(t)[i];
		const struct btf_type *vt = btf__type_by_id(w->btf, var->type);
		const char *name = vt && btf_is_var(vt) ? btf__name_by_offset(w->btf, vt->name_off) : NULL;

		if (name)
			walk(w, vt->type, name, bit + (uint64_t)var->offset * 8, depth + 1);
	}
}

static void walk(struct typed_writer *w, uint32_t id, const char *name, uint64_t bit, int depth)
{
	int real = btf__resolve_type(w->btf, id);
	const struct btf_type *t = real < 0 ? NULL : btf__type_by_id(w->btf, real);

	if (!t || depth > GPUBPF_TYPED_DEPTH || ++w->scalars > MAX_SCALARS || bit / 8 > w->size) {
		w->bad = true;
		return;
	}
	if (walk_meaning(w, id, name, bit))
		return;
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		walk_int(w, t, name, bit, 0);
		break;
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		walk_enum(w, t, name, bit, 0);
		break;
	case BTF_KIND_FLOAT:
		walk_float(w, t, name, bit);
		break;
	case BTF_KIND_PTR:
		walk_ptr(w, name, bit);
		break;
	case BTF_KIND_ARRAY:
		walk_array(w, t, name, bit, depth);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
		w->ops->open(w, name, false);
		if (btf_is_datasec(t))
			walk_datasec(w, t, bit, depth);
		else
			walk_members(w, t, bit, depth);
		w->ops->close(w);
		break;
	default:
		w->bad = true;
	}
}

int64_t gpubpf_typed_size(const struct btf *btf, uint32_t type)
{
	int64_t size = btf && type ? btf__resolve_size(btf, type) : -1;

	return size < 0 ? -1 : size;
}

bool gpubpf_typed_is(const struct btf *btf, uint32_t type, const char *name)
{
	for (int depth = 0; btf && depth < GPUBPF_TYPED_DEPTH; depth++) {
		const struct btf_type *t = btf__type_by_id(btf, type);
		const char *is = t ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (is && !strcmp(is, name))
			return true;
		if (!t || !(btf_is_typedef(t) || btf_is_mod(t)))
			return false;
		type = t->type;
	}
	return false;
}

int gpubpf_typed_text(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names, const void *data,
		      size_t size, char *buf, size_t room)
{
	struct typed_writer w = {
		.ops = &gpubpf_typed_text_ops,
		.btf = btf,
		.names = names,
		.data = data,
		.size = size,
		.buf = buf,
		.room = room,
		.first = true,
	};

	if (room)
		buf[0] = '\0';
	w.bad = !btf || !type;
	if (!w.bad)
		walk(&w, type, "", 0, 0);
	if (w.bad) {
		w.at = w.depth = 0;
		w.first = true;
		write_hex(&w, "", data, size);
	}
	return (int)w.at;
}

struct json_object *gpubpf_typed_json(const struct btf *btf, uint32_t type, const struct gpubpf_typed_names *names,
				      const void *data, size_t size)
{
	struct typed_writer w = {
		.ops = &gpubpf_typed_json_ops,
		.btf = btf,
		.names = names,
		.data = data,
		.size = size,
	};

	w.bad = !btf || !type;
	if (!w.bad)
		walk(&w, type, "", 0, 0);
	if (w.bad) {
		json_object_put(w.stack[0]);
		memset(w.stack, 0, sizeof(w.stack));
		w.depth = 0;
		write_hex(&w, "", data, size);
	}
	return w.stack[0];
}
