/* SPDX-License-Identifier: Apache-2.0 */
/* Types of values: their sizes and names, which types match, and the shapes of tuples. */
#include "check.h"

#include "gpubpf/ctx.h"

uint32_t lang_size(struct lang_type type)
{
	switch (type.base) {
	case LANG_NAME:
		return GPUBPF_CTX_NAME;
	case LANG_TUPLE:
		return type.shape ? type.shape->size : 0;
	case LANG_BUFFER:
		return 8 + ((type.bytes + 7) & ~7u);
	case LANG_FRAME_LIST:
		return 8 + 8 * type.bytes;
	case LANG_TEXT:
	case LANG_VOID:
		return 0;
	default:
		return 8;
	}
}

bool lang_is_in_memory(struct lang_type type)
{
	return type.base == LANG_NAME || type.base == LANG_TEXT || type.base == LANG_TUPLE ||
	       type.base == LANG_BUFFER || type.base == LANG_FRAME_LIST;
}

const char *check_base_name(struct lang_type type)
{
	static const char *const names[] = {
		[LANG_VOID] = "nothing",
		[LANG_INT] = "a number",
		[LANG_BOOL] = "a truth value",
		[LANG_KERNEL] = "a kernel",
		[LANG_ADDRESS] = "an address",
		[LANG_STACK] = "a stack",
		[LANG_TIME] = "a time",
		[LANG_PROCESS] = "a process",
		[LANG_NAME] = "a string",
		[LANG_TEXT] = "a string",
		[LANG_TUPLE] = "a tuple",
		[LANG_BUFFER] = "a buffer",
		[LANG_AGGREGATE] = "an aggregation",
		[LANG_RECORD] = "a struct",
		[LANG_ARRAY] = "an array",
		[LANG_LABEL] = "a name",
		[LANG_FRAME_LIST] = "a stack",
	};

	return names[type.base];
}

bool check_is_number(struct lang_type type)
{
	return type.base == LANG_INT || type.base == LANG_BOOL || type.base == LANG_ADDRESS;
}

bool check_is_text(struct lang_type type)
{
	return type.base == LANG_NAME || type.base == LANG_TEXT;
}

bool check_same_kind(struct lang_type a, struct lang_type b)
{
	if (a.base != b.base || a.base != LANG_TUPLE)
		return a.base == b.base && a.label == b.label &&
		       ((a.base != LANG_BUFFER && a.base != LANG_FRAME_LIST) ||
			(a.bytes == b.bytes && a.in_kernel == b.in_kernel));
	if (!a.shape || !b.shape || a.shape->n != b.shape->n)
		return false;
	for (uint32_t i = 0; i < a.shape->n; i++)
		if (!check_same_kind(a.shape->type[i], b.shape->type[i]))
			return false;
	return true;
}

/* Returns true if two C types are the same. Types of the Linux kernel are read at each use. */
static bool same_target(const struct lang_ctype *a, const struct lang_ctype *b)
{
	if (!a || !b || a == b)
		return a == b;
	if (a->kind != b->kind || a->bytes != b->bytes || a->is_signed != b->is_signed)
		return false;
	return a->kind == LANG_C_RECORD ? a->record == b->record : a->btf == b->btf && same_target(a->of, b->of);
}

bool check_fits_type(struct lang_type to, struct lang_type from)
{
	if (to.base == LANG_INT && from.base == LANG_BOOL)
		return true;
	return check_same_kind(to, from) && to.to == from.to && to.to_signed == from.to_signed &&
	       same_target(to.c, from.c);
}

static void add_element(struct lang_shape *shape, struct lang_type type)
{
	shape->type[shape->n] = type;
	shape->at[shape->n++] = shape->size;
	shape->size += lang_size(type);
}

static const struct lang_shape *check_size(struct check *c, const struct lang_shape *shape, uint32_t pos)
{
	if (shape && shape->size > LANG_VALUE_SIZE)
		lang_fail(c->l, pos, "combine some elements", "the tuple has %u bytes; the maximum is %u", shape->size,
			  LANG_VALUE_SIZE);
	return shape;
}

const struct lang_shape *check_shape(struct check *c, const struct lang_node *elements, uint32_t pos)
{
	struct lang_shape *shape = lang_alloc(c->l, sizeof(*shape));

	for (const struct lang_node *e = shape ? elements : NULL; e && shape->n < LANG_KEYS; e = e->next)
		add_element(shape, e->type);
	return check_size(c, shape, pos);
}

/* Return the type of the map's key: the type of its only element, or a tuple. */
static struct lang_type key_type(struct check *c, const struct lang_map *map)
{
	struct lang_shape *shape;

	if (map->nkeys == 1)
		return map->key[0];
	shape = lang_alloc(c->l, sizeof(*shape));
	for (uint32_t i = 0; shape && i < map->nkeys; i++)
		add_element(shape, map->key[i]);
	return (struct lang_type){ LANG_TUPLE, .shape = shape };
}

struct lang_type check_pair(struct check *c, const struct lang_map *map, uint32_t pos)
{
	struct lang_shape *shape = lang_alloc(c->l, sizeof(*shape));

	if (shape) {
		add_element(shape, key_type(c, map));
		add_element(shape, map->holds ? (struct lang_type){ LANG_INT, map->value.is_signed } : map->value);
	}
	return (struct lang_type){ LANG_TUPLE, .shape = check_size(c, shape, pos) };
}

struct lang_type check_part(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_expr(c, n->a);

	if (type.base == LANG_TUPLE && type.shape && n->value < type.shape->n)
		return type.shape->type[n->value];
	if (c->learning)
		return (struct lang_type){ LANG_VOID };
	if (type.base == LANG_TUPLE && type.shape)
		lang_fail(c->l, n->pos, "the first element is .0",
			  "the tuple has %u elements, and no element with this number", type.shape->n);
	else
		lang_fail(c->l, n->pos, "only tuples have elements: $t = (1, 2); $t.0",
			  "this is %s, and has no elements", check_base_name(type));
	return (struct lang_type){ LANG_INT, true };
}
