/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: infers and checks types, in two passes over the tree, because a map may be read before the line that sets it.
 * The first pass infers what maps hold, and the second one checks. Before: a parsed tree. After: every node has a type,
 * each map its value, key and sizes, and each action a number. gen*.c and cli/lang/host/host.c can process every node. Requires:
 * nothing.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "core/model/places.h"
#include "gpubpf/ctx.h"

static const struct lang_type number = { LANG_INT, true };

static void check_statement(struct check *c, struct lang_node *n);

int check_fail(struct check *c, const struct lang_node *n, const char *remedy, const char *what)
{
	return lang_fail(c->l, n->pos, remedy, "%s", what);
}

uint32_t lang_size(struct lang_type type)
{
	return type.base == LANG_NAME ? GPUBPF_CTX_NAME : type.base == LANG_TEXT || type.base == LANG_VOID ? 0 : 8;
}

const char *check_base_name(struct lang_type type)
{
	static const char *const names[] = {
		[LANG_VOID] = "nothing",    [LANG_INT] = "a number",
		[LANG_KERNEL] = "a kernel", [LANG_ADDRESS] = "an address",
		[LANG_STACK] = "a stack",   [LANG_NAME] = "a string",
		[LANG_TEXT] = "a string",   [LANG_AGGREGATE] = "an aggregation",
	};

	return names[type.base];
}

bool check_is_number(struct lang_type type)
{
	return type.base == LANG_INT || type.base == LANG_ADDRESS;
}

bool check_is_text(struct lang_type type)
{
	return type.base == LANG_NAME || type.base == LANG_TEXT;
}

/* Refuses a string that has more bytes than a stored string may have. */
void check_fits(struct check *c, const struct lang_node *n)
{
	for (const struct lang_probe *p = c->block->probes; p; p = p->next)
		if (strlen(n->kind == LANG_N_STRING ? n->text : p->section) >= GPUBPF_CTX_NAME)
			lang_fail(c->l, n->pos, "shorten it", "strings have at most %u bytes", GPUBPF_CTX_NAME - 1);
}

/* Check a value of any type. stored: the value is stored, not only printed, so a string needs bytes in the object. */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored)
{
	struct lang_type type = check_expr(c, n);

	if (check_is_text(type) && n->kind == LANG_N_SET)
		check_fail(c, n, "set the variable in a statement of its own",
			   "the assignment of a string cannot be "
			   "used as a value");
	if (!stored || type.base != LANG_TEXT)
		return type;
	check_fits(c, n);
	return n->type = (struct lang_type){ LANG_NAME };
}

/* Refuse the node, which is checked already, if it is not a number. */
static struct lang_type need_number(struct check *c, const struct lang_node *n)
{
	struct lang_type type = n->type;
	char what[96];

	if (check_is_number(type) || c->learning)
		return type;
	snprintf(what, sizeof(what), "this is %s where a number is needed", check_base_name(type));
	check_fail(c, n,
		   type.base == LANG_KERNEL ? "kernel == \"name\" compares it; as a key it is shown as its name" :
					      "compute it from numbers",
		   what);
	return number;
}

struct lang_type check_number(struct check *c, struct lang_node *n)
{
	check_expr(c, n);
	return need_number(c, n);
}

/* -- words -- */

/* Return the set of operands that a place must provide for the word to be valid. */
static uint32_t required_operands(const struct lang_builtin *b)
{
	const char *field = b->source == LANG_SOURCE_CTX ? lang_place_field(b->at) : NULL;

	return field ? 1u << gpubpf_operand_of(field) : 0;
}

/* Refuse a word whose field the block's places do not provide: it would read as 0, which is misleading. */
static void check_place(struct check *c, const struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;

	for (const struct lang_probe *p = c->block->probes; p; p = p->next) {
		const struct gpubpf_place_kind *kind = p->when == LANG_ON_DEVICE ? gpubpf_place_kind(p->site) : NULL;
		char what[200];

		if (!kind)
			continue;
		if (required_operands(b) & ~kind->operands)
			snprintf(what, sizeof(what), "%s is not available at %.100s", b->name, p->section);
		else if (b->source == LANG_SOURCE_CTX && b->base == LANG_NAME && kind->where != GPUBPF_WHERE_FUNCTION)
			snprintf(what, sizeof(what), "func is not available at %.100s", p->section);
		else if (b->source == LANG_SOURCE_DURATION && p->site != GPUBPF_SITE_EXIT)
			snprintf(what, sizeof(what), "duration is only available at gpu/exit/, not at %.100s", p->section);
		else
			continue;
		check_fail(c, n,
			   b->source == LANG_SOURCE_DURATION ? "use nsecs, or gpu/exit/" :
			   b->base == LANG_NAME              ? "kernel is the kernel's name" :
							       "gpubpf-prog(8) lists the fields of each place",
			   what);
	}
}

static struct lang_type check_builtin(struct check *c, struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;
	bool anywhere = b->source == LANG_SOURCE_PROBE || (b->source == LANG_SOURCE_HELPER && (b->at == 5 || b->at == 7));
	char what[96];

	snprintf(what, sizeof(what), "%s is for %s", b->name,
		 b->source == LANG_SOURCE_HOST ? "BEGIN, END and interval "
						 "only" :
						 "GPU probes, not for BEGIN, END and interval");
	if (b->source == LANG_SOURCE_HOST ? c->device : c->host && !anywhere)
		check_fail(c, n, b->source == LANG_SOURCE_HOST ? "use nsecs" : "use it in a gpu/ probe", what);
	check_place(c, n);
	c->l->stacks |= b->source == LANG_SOURCE_STACK;
	if (b->source == LANG_SOURCE_DURATION)
		c->block->duration = c->l->durations = true;
	return (struct lang_type){ b->base, b->source == LANG_SOURCE_NAMED };
}

static struct lang_type check_var(struct check *c, struct lang_node *n)
{
	if (n->var && (n->var->type.base != LANG_VOID || c->learning))
		return n->var->type;
	lang_fail(c->l, n->pos, "set it first, in this block or an enclosing one; maps (@x) are global",
		  "%s is not defined here", n->text);
	return number;
}

/* -- operators -- */

static bool compares(enum lang_token op)
{
	return op == LANG_T_EQ || op == LANG_T_NE || op == LANG_T_LT || op == LANG_T_LE || op == LANG_T_GT ||
	       op == LANG_T_GE;
}

static bool logical(enum lang_token op)
{
	return op == LANG_T_LAND || op == LANG_T_LOR;
}

/*
 * Is an operation signed? A literal takes the other operand's sign. If the signs of operands differ, the operation is
 * unsigned, as in C.
 */
static bool both_signed(const struct lang_node *a, const struct lang_node *b)
{
	if (a->literal && a->type.is_signed && !b->literal)
		return b->type.is_signed;
	if (b->literal && b->type.is_signed && !a->literal)
		return a->type.is_signed;
	return a->type.is_signed && b->type.is_signed;
}

/* Check a comparison of strings: kernel == "name", func == "name", str(arg0) == $s. */
static bool check_names(struct check *c, struct lang_node *n)
{
	struct lang_type a = n->a->type, b = n->b->type;

	if (n->a->kind == LANG_N_STRING && n->b->kind != LANG_N_STRING) {
		struct lang_node *swap = n->a;

		n->a = n->b;
		n->b = swap;
		a = n->a->type;
		b = n->b->type;
	}
	if (n->op != LANG_T_EQ && n->op != LANG_T_NE)
		return false;
	if (a.base == LANG_KERNEL && b.base == LANG_KERNEL)
		return true;
	if ((a.base != LANG_KERNEL || n->a->kind != LANG_N_BUILTIN || n->b->kind != LANG_N_STRING) &&
	    (!check_is_text(a) || !check_is_text(b)))
		return false;
	if (n->b->kind == LANG_N_STRING && strlen(n->b->text) > GPUBPF_CTX_NAME - 2)
		check_fail(c, n->b, "put it into the probe: gpu/exit/NAME",
			   "names can only be compared with strings "
			   "of at most 62 bytes");
	return true;
}

static struct lang_type check_binary(struct check *c, struct lang_node *n)
{
	check_value(c, n->a, false);
	check_value(c, n->b, false);
	if (logical(n->op) || compares(n->op) || !n->a->literal || !n->b->literal)
		n->literal = false;
	if (compares(n->op) && check_names(c, n))
		return number;
	need_number(c, n->a);
	need_number(c, n->b);
	n->value = both_signed(n->a, n->b); /* true: the comparison is signed */
	if (logical(n->op) || compares(n->op))
		return number;
	return (struct lang_type){ LANG_INT, n->op == LANG_T_SUB || both_signed(n->a, n->b) };
}

static struct lang_type check_unary(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_number(c, n->a);

	return n->op == LANG_T_INVERT ? (struct lang_type){ LANG_INT, type.is_signed } : number;
}

/* Check a read of the application's memory: *(uint32 *)arg0, ((uint32 *)arg0)[tid]. */
static struct lang_type check_read(struct check *c, struct lang_node *n)
{
	struct lang_type address = check_value(c, n->a, false);

	if (n->b)
		check_number(c, n->b);
	if (c->learning)
		return (struct lang_type){ LANG_INT, address.to_signed };
	if (c->host)
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map",
			   "the application's memory can only "
			   "be read in kernels");
	else if (address.base != LANG_ADDRESS || !address.to)
		check_fail(c, n,
			   "*(uint32 *)arg0, ((uint32 *)arg0)[i], or declare the argument: gpu/entry/NAME(uint32 *a)",
			   "the type of the value at this address is not known");
	n->value = address.to;
	return (struct lang_type){ LANG_INT, address.to_signed };
}

static struct lang_type check_ternary(struct check *c, struct lang_node *n)
{
	struct lang_type b, t;

	check_number(c, n->a);
	b = check_value(c, n->b, true);
	t = check_value(c, n->c, true);
	if (b.base != t.base && !c->learning)
		check_fail(c, n, "give both the same type", "the two values have different types");
	return (struct lang_type){ b.base, both_signed(n->b, n->c) };
}

void check_no_writes(struct check *c, const struct lang_node *n)
{
	if (c->host)
		check_fail(c, n, "BEGIN, END and interval may print(), clear() and zero() maps, and read them",
			   "maps can only be set in kernels");
}

static bool same_type(struct lang_type a, struct lang_type b)
{
	return a.base == b.base && a.to == b.to && a.to_signed == b.to_signed;
}

static struct lang_type check_set(struct check *c, struct lang_node *n)
{
	struct lang_type type;

	if (n->a->kind == LANG_N_MAP)
		check_no_writes(c, n);
	if (n->a->kind == LANG_N_MAP && n->b->kind == LANG_N_CALL && n->b->function &&
	    n->b->function->use == LANG_USE_VALUE) {
		check_aggregate(c, n);
		return (struct lang_type){ LANG_VOID };
	}
	type = n->op == LANG_T_NONE ? check_value(c, n->b, true) : check_number(c, n->b);
	if ((type.base == LANG_VOID || type.base == LANG_AGGREGATE) && !c->learning)
		check_fail(c, n->b, "numbers, strings, kernel, ustack and addresses can be stored",
			   "this cannot be "
			   "stored");
	if (n->a->kind == LANG_N_MAP) {
		type.to = type.to_signed = 0;
		check_key(c, n->a);
		check_holds(c, n->a, NULL, type);
		return n->a->type = n->a->map->value;
	}
	if (!n->a->var)
		return check_var(c, n->a);
	if (n->a->var->type.base == LANG_VOID)
		n->a->var->type = type;
	else if (!same_type(n->a->var->type, type) && !(n->a->var->bits && check_is_number(type)) && !c->learning)
		check_fail(c, n, "use another variable", "the variable has values of another type");
	if (!n->a->var->bits)
		n->a->var->type.is_signed |= type.is_signed;
	return n->a->type = n->a->var->type;
}

static struct lang_type check_step(struct check *c, struct lang_node *n)
{
	if (n->a->kind == LANG_N_MAP) {
		check_no_writes(c, n);
		check_key(c, n->a);
		check_holds(c, n->a, NULL, number);
		return n->a->type = number;
	}
	n->a->type = check_var(c, n->a);
	return n->a->type;
}

/* -- expressions -- */

static struct lang_type expr_type(struct check *c, struct lang_node *n)
{
	switch (n->kind) {
	case LANG_N_BUILTIN:
		return check_builtin(c, n);
	case LANG_N_VAR:
		return check_var(c, n);
	case LANG_N_MAP:
		return check_map_read(c, n);
	case LANG_N_UNARY:
		return check_unary(c, n);
	case LANG_N_BINARY:
		return check_binary(c, n);
	case LANG_N_TERNARY:
		return check_ternary(c, n);
	case LANG_N_CAST:
		check_number(c, n->a);
		return n->type;
	case LANG_N_READ:
		return check_read(c, n);
	case LANG_N_SET:
		return check_set(c, n);
	case LANG_N_STEP:
		return check_step(c, n);
	case LANG_N_CALL:
		return check_call(c, n);
	default:
		return n->type; /* a literal has its type already */
	}
}

struct lang_type check_expr(struct check *c, struct lang_node *n)
{
	return n->type = expr_type(c, n);
}

/* -- statements -- */

static void check_for(struct check *c, struct lang_node *n)
{
	check_number(c, n->a);
	check_number(c, n->c);
	c->loops++;
	check_statement(c, n->b);
	c->loops--;
}

static void check_statement(struct check *c, struct lang_node *n)
{
	uint32_t loops = c->loops;

	switch (n->kind) {
	case LANG_N_BLOCK:
		for (struct lang_node *s = n->list; s; s = s->next)
			check_statement(c, s);
		break;
	case LANG_N_IF:
		check_number(c, n->a);
		check_statement(c, n->b);
		if (n->c)
			check_statement(c, n->c);
		break;
	case LANG_N_UNROLL:
		c->loops = 0;
		check_statement(c, n->b);
		c->loops = loops;
		break;
	case LANG_N_FOR:
		check_for(c, n);
		break;
	case LANG_N_BREAK:
	case LANG_N_CONTINUE:
		if (!c->loops)
			check_fail(c, n, "return ends the probe", "this is not inside a for loop");
		break;
	case LANG_N_RETURN:
		break;
	default:
		check_expr(c, n);
	}
}

static void check_block(struct check *c, struct lang_block *b)
{
	c->block = b;
	c->device = c->host = false;
	for (const struct lang_probe *p = b->probes; p; p = p->next) {
		c->device |= p->when == LANG_ON_DEVICE;
		c->host |= p->when != LANG_ON_DEVICE;
	}
	if (b->filter)
		check_number(c, b->filter);
	check_statement(c, b->body);
}

int lang_check(struct lang *l)
{
	struct check c = { .l = l };

	for (int pass = 0; pass < 2; pass++) {
		c.learning = !pass;
		for (struct lang_block *b = l->blocks; b && !l->failed; b = b->next)
			check_block(&c, b);
	}
	for (struct lang_map *m = l->maps; m && !l->failed; m = m->next) {
		if (!m->known)
			lang_fail(l, m->pos, "set it in a probe: @x = ...", "%s is never set", m->name);
		else
			check_map_size(l, m);
	}
	return l->failed ? -EINVAL : 0;
}
