/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the types of the running Linux kernel from its BTF, when a text names one that it does not define. */
#include <bpf/btf.h>
#include <string.h>

#include "cli/lang/lang.h"

#define MAX_MODIFIERS 32 /* maximum number of typedefs and qualifiers before a type */

static const struct lang_ctype *read_type(struct lang *l, uint32_t id);

struct btf *lang_btf(struct lang *l)
{
	if (l->btf || l->btf_failed)
		return l->btf;
	l->btf = btf__load_vmlinux_btf();
	l->btf_failed = !l->btf;
	return l->btf;
}

void lang_btf_free(struct lang *l)
{
	btf__free(l->btf);
}

static const char *name_at(const struct lang *l, uint32_t offset)
{
	const char *name = btf__name_by_offset(l->btf, offset);

	return name ? name : "";
}

/* Skip typedefs and qualifiers. */
static const struct btf_type *skip_modifiers(const struct lang *l, uint32_t *id)
{
	const struct btf_type *t = btf__type_by_id(l->btf, *id);

	for (int i = 0; t && i < MAX_MODIFIERS && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
		*id = t->type;
		t = btf__type_by_id(l->btf, *id);
	}
	return t;
}

/* Return the record of a struct or union, whose members are read when a text uses one. */
static const struct lang_record *record_at(struct lang *l, uint32_t id, const struct btf_type *t)
{
	struct lang_record *r = l->structs;

	while (r && r->btf != id)
		r = r->next;
	if (r)
		return r;
	r = lang_alloc(l, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct lang_record){
		.next = l->structs,
		.name = lang_format(l, "%s %s", btf_is_union(t) ? "union" : "struct", name_at(l, t->name_off)),
		.btf = id,
		.type = { .kind = LANG_C_RECORD, .bytes = t->size, .record = r },
	};
	l->structs = r;
	return r;
}

static const struct lang_ctype *make(struct lang *l, struct lang_ctype type)
{
	struct lang_ctype *c = lang_alloc(l, sizeof(*c));

	if (c)
		*c = type;
	return c;
}

static const struct lang_ctype *read_int(struct lang *l, const struct btf_type *t)
{
	uint32_t encoding = btf_is_int(t) ? btf_int_encoding(t) : BTF_INT_SIGNED;

	return make(l, (struct lang_ctype){ .kind = LANG_C_INT,
					    .bytes = t->size,
					    .is_signed = encoding & BTF_INT_SIGNED,
					    .is_bool = encoding & BTF_INT_BOOL,
					    .is_char = t->size == 1 && !strcmp(name_at(l, t->name_off), "char") });
}

static const struct lang_ctype *read_array(struct lang *l, const struct btf_type *t)
{
	const struct btf_array *array = btf_array(t);
	const struct lang_ctype *of = read_type(l, array->type);

	if (!of)
		return NULL;
	return make(l, (struct lang_ctype){
			       .kind = LANG_C_ARRAY, .of = of, .n = array->nelems, .bytes = of->bytes * array->nelems });
}

/* Return the type with the id, or NULL for void and for types that have no values, such as functions. */
static const struct lang_ctype *read_type(struct lang *l, uint32_t id)
{
	const struct btf_type *t = skip_modifiers(l, &id);
	const struct lang_record *record;

	if (!t)
		return NULL;
	if (btf_is_int(t) || btf_is_any_enum(t) || btf_is_float(t))
		return read_int(l, t);
	if (btf_is_ptr(t))
		return make(l, (struct lang_ctype){ .kind = LANG_C_POINTER, .bytes = 8, .btf = t->type });
	if (btf_is_array(t))
		return read_array(l, t);
	if (btf_is_composite(t)) {
		record = record_at(l, id, t);
		return record ? &record->type : NULL;
	}
	if (btf_is_fwd(t)) {
		record = lang_btf_record(l, lang_format(l, "%s %s", btf_kflag(t) ? "union" : "struct",
							name_at(l, t->name_off)));
		return record ? &record->type : NULL;
	}
	return NULL;
}

const struct lang_ctype *lang_ctype_target(struct lang *l, const struct lang_ctype *pointer)
{
	return pointer->of || !pointer->btf ? pointer->of : read_type(l, pointer->btf);
}

const struct lang_record *lang_btf_record(struct lang *l, const char *name)
{
	bool is_union = !strncmp(name, "union ", 6);
	const struct btf *btf = lang_btf(l);
	int id = btf ? btf__find_by_name_kind(btf, name + (is_union ? 6 : 7), is_union ? BTF_KIND_UNION : BTF_KIND_STRUCT) :
		       -1;

	return id > 0 ? record_at(l, (uint32_t)id, btf__type_by_id(btf, (uint32_t)id)) : NULL;
}

bool lang_btf_enumerator(struct lang *l, const char *name, uint64_t *value)
{
	const struct btf *btf = lang_btf(l);

	for (uint32_t id = 1; btf && id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (uint32_t i = 0; t && btf_is_enum(t) && i < btf_vlen(t); i++)
			if (!strcmp(name_at(l, btf_enum(t)[i].name_off), name)) {
				*value = (uint64_t)(int64_t)btf_enum(t)[i].val;
				return true;
			}
	}
	return false;
}

/* The number that contains a bit-field: the aligned number of the type's size. */
static void place_bits(struct lang_member *m, uint32_t first_bit, uint32_t bits)
{
	uint32_t unit = 8 * m->type->bytes;

	m->at = first_bit / unit * m->type->bytes;
	m->bit = first_bit % unit;
	m->bits = bits;
}

void lang_btf_members(struct lang *l, struct lang_record *r)
{
	const struct btf_type *t = btf__type_by_id(l->btf, r->btf);
	struct lang_member **end = &r->members;

	r->is_known = true;
	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		uint32_t first_bit = btf_member_bit_offset(t, i), bits = btf_member_bitfield_size(t, i);
		struct lang_member *m = lang_alloc(l, sizeof(*m));
		const struct lang_ctype *type = read_type(l, btf_members(t)[i].type);

		if (!m || !type)
			continue;
		*m = (struct lang_member){ .name = name_at(l, btf_members(t)[i].name_off),
					   .type = type,
					   .at = first_bit / 8 };
		if (bits && type->kind == LANG_C_INT && type->bytes)
			place_bits(m, first_bit, bits);
		*end = m;
		end = &m->next;
	}
}

bool lang_btf_parameter(struct lang *l, const char *function, const char *name, struct lang_type *type, uint32_t *index,
			uint32_t *bits)
{
	const struct btf *btf = lang_btf(l);
	int id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_FUNC) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct lang_ctype *c = NULL;
	uint32_t i = 0;

	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t)
		return false;
	while (name && i < btf_vlen(t) && strcmp(name_at(l, btf_params(t)[i].name_off), name))
		i++;
	if (name && i == btf_vlen(t))
		return false;
	*index = name ? i : btf_vlen(t);
	c = read_type(l, name ? btf_params(t)[i].type : t->type);
	*type = c && c->kind != LANG_C_RECORD && c->kind != LANG_C_ARRAY ? lang_type_of(l, c) :
									   (struct lang_type){ LANG_INT };
	type->in_kernel = true;
	*bits = c && c->kind == LANG_C_INT ? 8 * c->bytes : 64;
	return true;
}
