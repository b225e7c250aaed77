/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints C declarations of BTF types. The declarations use only basic types, so the generated header includes no other
 * header. Structs are declared where they are used. A C compiler would lay out some types differently from BTF (packed
 * structs, bit fields); these become arrays of bytes.
 */
#include "gen_types.h"

#include <ctype.h>
#include <stdio.h>

#include <bpf/btf.h>

#define MAX_DEPTH 16 /* maximum nesting of structs and arrays */

/* size and alignment in bytes of a type in C */
struct shape {
	uint32_t size, align;
};

static bool shape_of(const struct btf *btf, uint32_t type, uint32_t depth, struct shape *shape);
static void put_type(const struct btf *btf, uint32_t type, const char *name, uint32_t depth);

bool gen_is_identifier(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return name[0] && !isdigit((unsigned char)name[0]);
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/* Return the type without typedefs, const and volatile. */
static const struct btf_type *strip_modifiers(const struct btf *btf, uint32_t type)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	while (t && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_type_tag(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

/*
 * Return the C name of a basic type, or NULL if C has no portable name for it. Pointers become integers, because they
 * hold device addresses.
 */
static const char *number_type_name(const struct btf_type *t)
{
	static const struct {
		uint32_t size;
		const char *name[2];
	} numbers[] = {
		{ 1, { "unsigned char", "signed char" } },
		{ 2, { "unsigned short", "short" } },
		{ 4, { "unsigned int", "int" } },
		{ 8, { "unsigned long long", "long long" } },
	};
	bool sign = btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_is_any_enum(t) && btf_kflag(t);
	uint32_t size = btf_is_ptr(t) ? 8 : t->size;

	if (btf_is_float(t))
		return size == 4 ? "float" : size == 8 ? "double" : NULL;
	if (btf_is_int(t) && btf_int_encoding(t) & BTF_INT_BOOL && size == 1)
		return "bool";
	for (size_t i = 0;
	     (btf_is_int(t) || btf_is_ptr(t) || btf_is_any_enum(t)) && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].size == size)
			return size == 1 && btf_is_int(t) && sign ? "char" : numbers[i].name[sign];
	return NULL;
}

/* Compute size and alignment of a struct or a union in C. Returns false if its layout in BTF is different. */
static bool struct_shape(const struct btf *btf, const struct btf_type *t, uint32_t depth, struct shape *shape)
{
	struct shape all = { 0, 1 }, its;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(btf, m->name_off);

		if (btf_member_bitfield_size(t, i) || (name[0] && !gen_is_identifier(name)) ||
		    !shape_of(btf, m->type, depth + 1, &its) ||
		    btf_member_bit_offset(t, i) != 8ull * (btf_is_union(t) ? 0 : round_up(all.size, its.align)))
			return false;
		all.align = its.align > all.align ? its.align : all.align;
		if (btf_is_struct(t))
			all.size = btf_member_bit_offset(t, i) / 8;
		its.size += btf_is_struct(t) ? all.size : 0;
		all.size = its.size > all.size ? its.size : all.size;
	}
	*shape = (struct shape){ t->size, all.align };
	return all.size && round_up(all.size, all.align) == t->size;
}

/* Compute size and alignment of a type in C. Returns false if C would lay the type out differently from BTF. */
static bool shape_of(const struct btf *btf, uint32_t type, uint32_t depth, struct shape *shape)
{
	const struct btf_type *t = strip_modifiers(btf, type);

	if (!t || depth == MAX_DEPTH)
		return false;
	if (number_type_name(t)) {
		shape->size = shape->align = btf_is_ptr(t) ? 8 : t->size;
		return true;
	}
	if (btf_is_composite(t))
		return struct_shape(btf, t, depth, shape);
	if (!btf_is_array(t) || !btf_array(t)->nelems || !shape_of(btf, btf_array(t)->type, depth + 1, shape) ||
	    shape->size > UINT32_MAX / btf_array(t)->nelems)
		return false;
	shape->size *= btf_array(t)->nelems;
	return true;
}

static void indent(uint32_t depth)
{
	for (uint32_t i = 0; i <= depth; i++)
		putchar('\t');
}

static void put_struct(const struct btf *btf, const struct btf_type *t, uint32_t depth)
{
	printf("%s {\n", btf_is_union(t) ? "union" : "struct");
	for (uint32_t i = 0; i < btf_vlen(t); i++)
		put_type(btf, btf_members(t)[i].type, btf__name_by_offset(btf, btf_members(t)[i].name_off), depth + 1);
	indent(depth);
	printf("}");
}

/* Print a declaration of `name` with this type. shape_of() must have returned true for the type. */
static void put_type(const struct btf *btf, uint32_t type, const char *name, uint32_t depth)
{
	const struct btf_type *t = strip_modifiers(btf, type), *of = t;

	while (btf_is_array(of))
		of = strip_modifiers(btf, btf_array(of)->type);
	indent(depth);
	if (btf_is_composite(of))
		put_struct(btf, of, depth);
	else
		printf("%s", number_type_name(of));
	printf("%s%s", name[0] ? " " : "", name);
	for (; btf_is_array(t); t = strip_modifiers(btf, btf_array(t)->type))
		printf("[%u]", btf_array(t)->nelems);
	printf(";\n");
}

static void put_bytes(const char *name, uint32_t bytes)
{
	printf("\tunsigned char %s[%u];\n", name, bytes);
}

static void put_gap(uint32_t off, uint32_t bytes)
{
	char name[32];

	snprintf(name, sizeof(name), "unused_%u", off);
	put_bytes(name, bytes);
}

void gen_variables(const struct btf *btf, uint32_t section, uint32_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, section), *var;
	uint32_t end = 0, align = 1;

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *at = &btf_var_secinfos(t)[i];
		struct shape its = { 0, 1 };
		const char *name;
		bool typed;

		var = btf__type_by_id(btf, at->type);
		if (!var || !btf_is_var(var)) /* invalid BTF; compilers do not emit such a section */
			continue;
		name = btf__name_by_offset(btf, var->name_off);
		if (btf_var(var)->linkage == BTF_VAR_STATIC || !gen_is_identifier(name) || at->offset < end ||
		    at->size > size - at->offset)
			continue;
		typed = shape_of(btf, var->type, 0, &its) && its.size == at->size && at->offset % its.align == 0;
		if (round_up(end, typed ? its.align : 1) != at->offset)
			put_gap(end, at->offset - end);
		if (typed)
			put_type(btf, var->type, name, 0);
		else
			put_bytes(name, at->size);
		end = at->offset + at->size;
		align = typed && its.align > align ? its.align : align;
	}
	if (end < size && (round_up(end, align) != size || !end))
		put_gap(end, size - end);
}
