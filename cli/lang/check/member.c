/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks reads of the application's memory: *(uint32 *)arg0, ((uint32 *)arg0)[tid], members of structs and their
 * addresses. This is a part of the pass in check.c.
 */
#include "check.h"

#include "gpubpf/ctx.h"

static const struct lang_type unknown = { LANG_VOID }, number = { LANG_INT, true };

static struct lang_type refuse_host(struct check *c, const struct lang_node *n)
{
	if (c->host)
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map",
			   "only gpu/ probes can read the application's memory");
	return number;
}

/* Return the type of an element of an array, or of the target of a pointer. */
static struct lang_type element_type(struct check *c, struct lang_type address)
{
	struct lang_type type = address.base == LANG_ARRAY ? lang_type_of(c->l, address.c->of) :
				address.c                  ? lang_type_of(c->l, address.c) :
							     (struct lang_type){ LANG_INT, address.to_signed };

	type.in_kernel = address.in_kernel;
	return type;
}

static uint32_t element_bits(struct lang_type address)
{
	return address.base == LANG_ARRAY ? 8 * address.c->of->bytes : address.c ? 8 * address.c->bytes : address.to;
}

struct lang_type check_read(struct check *c, struct lang_node *n)
{
	struct lang_type address = check_expr(c, n->a);

	if (n->b && address.base == LANG_TUPLE) {
		n->kind = LANG_N_PART; /* $t[0] is the same as $t.0 */
		n->value = n->b->kind == LANG_N_NUMBER ? n->b->value : UINT32_MAX;
		return check_part(c, n);
	}
	if (n->b)
		check_number(c, n->b);
	if (c->learning && address.base != LANG_ADDRESS && address.base != LANG_ARRAY)
		return address.base == LANG_VOID ? unknown : (struct lang_type){ LANG_INT, address.to_signed };
	if (c->host)
		return refuse_host(c, n);
	if ((address.base != LANG_ADDRESS && address.base != LANG_ARRAY) || !element_bits(address)) {
		if (!c->learning)
			check_fail(c, n,
				   "state the type: *(uint32 *)arg0, ((uint32 *)arg0)[i], or gpu/entry/NAME(uint32 *a) for "
				   "an argument",
				   "the type of the value at this address is not known");
		return number;
	}
	n->value = element_bits(address);
	return element_type(c, address);
}

static struct lang_type no_member(struct check *c, const struct lang_node *n, struct lang_type type)
{
	if (c->learning)
		return unknown;
	if (type.c && type.c->kind == LANG_C_RECORD && (type.base == LANG_RECORD) == (n->op == LANG_T_DOT))
		lang_fail(c->l, n->pos, "define the struct with this member before the probes", "%s has no member %s",
			  type.c->record->name, n->text);
	else if (type.c && type.c->kind == LANG_C_RECORD)
		lang_fail(c->l, n->pos, n->op == LANG_T_DOT ? "write -> after an address" : "write . after a struct",
			  "this is %s", type.base == LANG_RECORD ? "a struct, not an address" : "the address of a struct");
	else
		lang_fail(c->l, n->pos,
			  "cast it: ((struct pair *)arg0)->a; struct pair { int a; int b; } defines the struct; .0 is the "
			  "first element of a tuple",
			  "this is %s, and has no member %s", check_base_name(type), n->text);
	return number;
}

struct lang_type check_member(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_expr(c, n->a), result;
	bool is_struct = type.c && type.c->kind == LANG_C_RECORD &&
			 type.base == (n->op == LANG_T_DOT ? LANG_RECORD : LANG_ADDRESS);
	uint32_t at = 0;

	n->member = is_struct ? lang_member_find(c->l, type.c, n->text, &at) : NULL;
	if (!n->member)
		return no_member(c, n, type);
	n->value = at;
	if (c->host)
		return refuse_host(c, n);
	result = lang_type_of(c->l, n->member->type);
	result.in_kernel = type.in_kernel;
	return result;
}

struct lang_type check_place_of(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_expr(c, n->a), base = n->a->a->type, result = { LANG_ADDRESS };

	if (n->a->kind == LANG_N_MEMBER && n->a->member)
		result = lang_address_of(n->a->member->type);
	else if (type.base == LANG_RECORD || type.base == LANG_ARRAY)
		result.c = type.c;
	else
		result = base.base == LANG_ARRAY ? lang_address_of(base.c->of) : base;
	result.in_kernel = base.in_kernel;
	return result;
}

struct lang_type check_size_of(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_expr(c, n->a);
	uint64_t bytes = type.base == LANG_RECORD || type.base == LANG_ARRAY ? type.c->bytes : lang_size(type);

	if (n->a->kind == LANG_N_MEMBER && n->a->member)
		bytes = n->a->member->type->bytes;
	else if (n->a->kind == LANG_N_READ || n->a->kind == LANG_N_CAST)
		bytes = n->a->type.base == LANG_ADDRESS ? 8 : n->a->value / 8;
	if (c->learning)
		return number;
	n->kind = LANG_N_NUMBER;
	n->value = n->a->kind == LANG_N_STRING ? __builtin_strlen(n->a->text) + 1 : bytes;
	n->literal = true;
	return number;
}

bool check_moves_pointer(struct check *c, struct lang_node *n)
{
	struct lang_type a = n->a->type;
	struct lang_node *read, *by = n->b;

	if ((n->op != LANG_T_ADD && n->op != LANG_T_SUB) || a.base != LANG_ADDRESS || by->type.base == LANG_ADDRESS ||
	    !element_bits(a) || !check_is_number(by->type) || c->host)
		return false;
	if (n->op == LANG_T_SUB) {
		by = lang_alloc(c->l, sizeof(*by));
		if (!by)
			return false;
		*by = (struct lang_node){ .kind = LANG_N_UNARY, .pos = n->pos, .op = LANG_T_SUB, .a = n->b, .action = -1 };
	}
	read = lang_alloc(c->l, sizeof(*read));
	if (!read)
		return false;
	*read = (struct lang_node){ .kind = LANG_N_READ, .pos = n->pos, .a = n->a, .b = by, .action = -1 };
	n->kind = LANG_N_PLACE;
	n->a = read;
	n->b = NULL;
	return true;
}

/* Make the node a call of str(), which reads the characters of the array. */
static struct lang_type read_characters(struct check *c, struct lang_node *n, uint32_t most)
{
	struct lang_node *array = lang_alloc(c->l, sizeof(*array)), *bytes = lang_alloc(c->l, sizeof(*bytes));
	struct lang_node *next = n->next;

	if (!array || !bytes)
		return number;
	*array = *n;
	array->next = bytes;
	*bytes = (struct lang_node){ .kind = LANG_N_NUMBER, .pos = n->pos, .type = number, .literal = true, .action = -1 };
	bytes->value = most && most < GPUBPF_CTX_NAME ? most : GPUBPF_CTX_NAME - 1;
	*n = (struct lang_node){
		.kind = LANG_N_CALL,
		.pos = n->pos,
		.function = lang_function_find("str"),
		.list = array,
		.action = -1,
		.next = next,
	};
	return check_expr(c, n);
}

struct lang_type check_array_value(struct check *c, struct lang_node *n, struct lang_type type)
{
	if (type.base == LANG_ARRAY && type.c->of->is_char &&
	    (n->kind == LANG_N_MEMBER || n->kind == LANG_N_READ || n->kind == LANG_N_BUILTIN))
		return read_characters(c, n, type.c->n);
	if ((type.base == LANG_ARRAY || type.base == LANG_RECORD) && !c->learning)
		check_fail(c, n,
			   type.base == LANG_ARRAY ? "use an element, such as $p->a[0], or buf($p->a) for the bytes" :
						     "use a member, such as $p->a, or its address, &$p->a",
			   type.base == LANG_ARRAY ? "an array is not a value" : "a struct is not a value");
	return type;
}

struct lang_type check_struct_or_value(struct check *c, struct lang_node *n)
{
	bool may_be_struct = n->kind == LANG_N_MEMBER || n->kind == LANG_N_READ || n->kind == LANG_N_VAR;
	struct lang_type type = may_be_struct ? check_expr(c, n) : (struct lang_type){ LANG_VOID };

	return type.base == LANG_RECORD || (type.base == LANG_ARRAY && !type.c->of->is_char) ? type :
											       check_value(c, n, true);
}
