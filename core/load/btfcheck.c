/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the section .BTF like the Linux kernel (kernel/bpf/btf.c), as far as libbpf relies on such checks. Every
 * offset lies inside its section. Every type id names a type of the required kind. No type contains itself by value.
 * <linux/btf.h> defines the layouts.
 */
#include "internal.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

#define MAX_SIZE (16u << 20)  /* BTF_MAX_SIZE of the Linux kernel */
#define MAX_TYPES (1u << 18)
#define MAX_NESTING 64        /* maximum depth of types that contain one another by value */

#define bad(c, ...) gpubpf_diag_refuse((c)->diag, BAD_BTF, __VA_ARGS__)

static int refuse_type(struct gpubpf_btf_check *c, uint32_t id, const char *why)
{
	return bad(c, "section '.BTF': type %u: %s", id, why);
}

static uint32_t get_kind(const struct gpubpf_btf_check *c, uint32_t id)
{
	return id ? BTF_INFO_KIND(c->types[id]->info) : BTF_KIND_UNKN;
}

/* Returns the number of bytes that follow struct btf_type for this type, or -1 for an unknown kind. */
static int64_t tail_size(const struct btf_type *t)
{
	uint32_t vlen = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return vlen * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return vlen * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return vlen * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return vlen * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return vlen * sizeof(struct btf_var_secinfo);
	}
	return -1;
}

bool gpubpf_btf_has_string(const struct gpubpf_btf_check *c, uint32_t offset)
{
	return offset < c->nstrings;
}

static bool has_type(const struct gpubpf_btf_check *c, uint32_t id)
{
	return id <= c->ntypes;
}

bool gpubpf_btf_has_kind(const struct gpubpf_btf_check *c, uint32_t id, uint32_t kind)
{
	return has_type(c, id) && get_kind(c, id) == kind;
}

/*
 * Returns true if a variable can have this type. Returns false for void, functions, sections, variables, tags and
 * forward declarations.
 */
static bool has_value(const struct gpubpf_btf_check *c, uint32_t id)
{
	uint32_t kind;

	if (!id || !has_type(c, id))
		return false;
	kind = get_kind(c, id);
	return kind != BTF_KIND_FUNC && kind != BTF_KIND_FUNC_PROTO && kind != BTF_KIND_DATASEC &&
	       kind != BTF_KIND_VAR && kind != BTF_KIND_DECL_TAG && kind != BTF_KIND_FWD;
}

/* Stores the address of each type in c->types. */
static int index_types(struct gpubpf_btf_check *c, const uint8_t *at, const uint8_t *end)
{
	c->types = calloc(MAX_TYPES + 1, sizeof(*c->types));
	if (!c->types)
		return -ENOMEM;
	while (at < end) {
		const struct btf_type *t = (const void *)at;
		int64_t tail;

		if (c->ntypes == MAX_TYPES)
			return bad(c, "section '.BTF' has more than %u types", MAX_TYPES);
		if ((size_t)(end - at) < sizeof(*t))
			return refuse_type(c, c->ntypes + 1, "is cut off");
		tail = tail_size(t);
		if (tail < 0)
			return refuse_type(c, c->ntypes + 1, "is of an unknown kind");
		if (tail > end - at - (int64_t)sizeof(*t))
			return refuse_type(c, c->ntypes + 1, "is cut off");
		c->types[++c->ntypes] = t;
		at += sizeof(*t) + tail;
	}
	return 0;
}

static int check_int(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	uint32_t v = *(const uint32_t *)(t + 1);

	if (!t->size || t->size > 16 || (t->size & (t->size - 1)) ||
	    BTF_INT_BITS(v) + BTF_INT_OFFSET(v) > t->size * 8 || !BTF_INT_BITS(v))
		return refuse_type(c, id, "is an integer of an invalid size");
	return 0;
}

static int check_members(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	const struct btf_member *m = (const void *)(t + 1);
	bool fields = BTF_INFO_KFLAG(t->info);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		uint32_t bit = fields ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;

		if (!gpubpf_btf_has_string(c, m[i].name_off))
			return refuse_type(c, id, "a member's name is outside the string section");
		if (!has_value(c, m[i].type))
			return refuse_type(c, id, "a member's type does not exist");
		if (bit / 8 > t->size)
			return refuse_type(c, id, "a member lies outside of its struct");
	}
	return 0;
}

static int check_enum(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	bool wide = get_kind(c, id) == BTF_KIND_ENUM64;
	const struct btf_enum *e = (const void *)(t + 1);
	const struct btf_enum64 *e64 = (const void *)(t + 1);

	if (!t->size || t->size > 8 || (t->size & (t->size - 1)))
		return refuse_type(c, id, "is an enumeration of an invalid size");
	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (!gpubpf_btf_has_string(c, wide ? e64[i].name_off : e[i].name_off))
			return refuse_type(c, id, "an enumerator's name is outside the string section");
	return 0;
}

static int check_params(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	const struct btf_param *p = (const void *)(t + 1);

	if (!has_type(c, t->type))
		return refuse_type(c, id, "the return type does not exist");
	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (!gpubpf_btf_has_string(c, p[i].name_off) || !has_type(c, p[i].type))
			return refuse_type(c, id, "a parameter's name or type does not exist");
	return 0;
}

static int check_datasec(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	const struct btf_var_secinfo *v = (const void *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (!gpubpf_btf_has_kind(c, v[i].type, BTF_KIND_VAR) && !gpubpf_btf_has_kind(c, v[i].type, BTF_KIND_FUNC))
			return refuse_type(c, id, "lists a type that is not a variable");
	return 0;
}

static int check_reference(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];
	const struct btf_array *a = (const void *)(t + 1);

	switch (get_kind(c, id)) {
	case BTF_KIND_ARRAY:
		return has_value(c, a->type) && has_value(c, a->index_type) ?
			       0 :
			       refuse_type(c, id, "is an array without an element type");
	case BTF_KIND_FUNC:
		return gpubpf_btf_has_kind(c, t->type, BTF_KIND_FUNC_PROTO) ?
			       0 :
			       refuse_type(c, id, "is a function without a prototype");
	case BTF_KIND_VAR:
		return t->type && has_type(c, t->type) ? 0 : refuse_type(c, id, "is a variable without a type");
	case BTF_KIND_DECL_TAG:
		return t->type && has_type(c, t->type) ? 0 : refuse_type(c, id, "is a tag without a target");
	default: /* pointers, modifiers and typedefs may also refer to void (id 0) */
		return has_type(c, t->type) ? 0 : refuse_type(c, id, "refers to a type that does not exist");
	}
}

static int check_type(struct gpubpf_btf_check *c, uint32_t id)
{
	const struct btf_type *t = c->types[id];

	if (!gpubpf_btf_has_string(c, t->name_off))
		return refuse_type(c, id, "its name is outside the string section");
	switch (get_kind(c, id)) {
	case BTF_KIND_INT:
		return check_int(c, id);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return check_members(c, id);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return check_enum(c, id);
	case BTF_KIND_FUNC_PROTO:
		return check_params(c, id);
	case BTF_KIND_DATASEC:
		return check_datasec(c, id);
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
		return 0;
	}
	return check_reference(c, id);
}

/*
 * Checks that no type contains itself by value, directly or through modifiers and typedefs. The search is depth-first
 * and visits each type once.
 */
enum { UNSEEN, OPEN, CLOSED };

static int check_nesting(struct gpubpf_btf_check *c, uint8_t *state, uint32_t id, int depth)
{
	const struct btf_type *t = id ? c->types[id] : NULL;
	const struct btf_member *m;
	int err = 0;

	if (!id || state[id] == CLOSED)
		return 0;
	if (state[id] == OPEN || depth > MAX_NESTING)
		return refuse_type(c, id, depth > MAX_NESTING ? "is nested too deep" : "contains itself");
	state[id] = OPEN;
	switch (get_kind(c, id)) {
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		err = check_nesting(c, state, t->type, depth + 1);
		break;
	case BTF_KIND_ARRAY:
		err = check_nesting(c, state, ((const struct btf_array *)(t + 1))->type, depth + 1);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		m = (const void *)(t + 1);
		for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info) && err >= 0; i++)
			err = check_nesting(c, state, m[i].type, depth + 1);
		break;
	}
	state[id] = CLOSED;
	return err;
}

static int check_all(struct gpubpf_btf_check *c)
{
	uint8_t *state = calloc(c->ntypes + 1, 1);
	int err = state ? 0 : -ENOMEM;

	for (uint32_t id = 1; id <= c->ntypes && err >= 0; id++)
		err = check_type(c, id);
	for (uint32_t id = 1; id <= c->ntypes && err >= 0; id++)
		err = check_nesting(c, state, id, 0);
	free(state);
	return err;
}

int gpubpf_btf_check(struct gpubpf_btf_check *c, const void *data, size_t size)
{
	const struct btf_header *h = data;
	const uint8_t *body;
	size_t room;
	int err;

	if (size < sizeof(*h) || (uintptr_t)data % 4 || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len != sizeof(*h) || h->flags)
		return bad(c, "section '.BTF' does not begin with a BTF header");
	if (size > MAX_SIZE)
		return bad(c, "section '.BTF' has %zu bytes; it may have up to %u", size, MAX_SIZE);
	room = size - sizeof(*h);
	body = (const uint8_t *)data + sizeof(*h);
	if (h->type_off % 4 || h->type_off > room || h->type_len > room - h->type_off || h->type_len % 4 ||
	    h->str_off > room || h->str_len > room - h->str_off)
		return bad(c, "section '.BTF' is cut off");
	if (h->str_off < h->type_off + h->type_len)
		return bad(c, "section '.BTF': types and strings overlap");
	c->strings = (const char *)body + h->str_off;
	c->nstrings = h->str_len;
	if (!c->nstrings || c->strings[0] || c->strings[c->nstrings - 1])
		return bad(c, "section '.BTF': the strings are malformed");
	err = index_types(c, body + h->type_off, body + h->type_off + h->type_len);
	if (err >= 0)
		err = check_all(c);
	if (err == -ENOMEM)
		gpubpf_diag_set(c->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for the object's types");
	return err;
}

void gpubpf_btf_check_finish(struct gpubpf_btf_check *c)
{
	free(c->types);
}
