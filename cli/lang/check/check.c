/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: infers and checks types in several passes over the tree, because a map may be read before the line that sets
 * it. The first passes infer what maps contain; the last pass checks.
 * Before: the tree is parsed.
 * After: every node has a type. The types and sizes of each map's keys and values are known, and each action has a
 * number. The code generator and cli/lang/host/host.c can process every node.
 * Requires: nothing.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/ctx.h"

/* number of passes that infer types: a map may be read before it is set, and its value may come from another such map */
#define LEARNING_PASSES 3

static const struct lang_type number = { LANG_INT, true }, truth = { LANG_BOOL };

static void check_statement(struct check *c, struct lang_node *n);

int check_fail(struct check *c, const struct lang_node *n, const char *remedy, const char *what)
{
	return lang_fail(c->l, n->pos, remedy, "%s", what);
}

/* Refuse a string literal that is too long to be stored. */
void check_fits(struct check *c, const struct lang_node *n)
{
	for (const struct lang_probe *p = c->block->probes; p; p = p->next)
		if (strlen(n->kind == LANG_N_STRING ? n->text : p->section) >= GPUBPF_CTX_NAME)
			lang_fail(c->l, n->pos, "shorten it", "strings have at most %u bytes", GPUBPF_CTX_NAME - 1);
}

/*
 * Check a value of any type. With `stored`, the program stores the value instead of only printing it, so a string needs
 * bytes in the object.
 */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored)
{
	struct lang_type type = check_array_value(c, n, check_expr(c, n));

	if (lang_is_in_memory(type) && n->kind == LANG_N_SET)
		lang_fail(c->l, n->pos, "set the variable in a separate statement",
			  "the assignment of %s cannot be used as a value", check_base_name(type));
	if (!stored || type.base != LANG_TEXT)
		return type;
	check_fits(c, n);
	return n->type = (struct lang_type){ LANG_NAME };
}

/* Refuse the node if its type is not a number. Its type must be known already. */
static struct lang_type need_number(struct check *c, const struct lang_node *n)
{
	struct lang_type type = n->type;
	char what[96];

	if (check_is_number(type) || c->learning)
		return type;
	snprintf(what, sizeof(what), "a number is needed here, but this is %s", check_base_name(type));
	check_fail(c, n,
		   type.base == LANG_PROCESS ?
			   "print it, use it as a key, or compare pid; a kernel does not know the names of "
			   "processes" :
		   type.base == LANG_KERNEL ? "compare it with a name (kernel == \"name\"), or use it as a key, which "
					      "is printed as its name" :
					      "use a number here",
		   what);
	return number;
}

struct lang_type check_number(struct check *c, struct lang_node *n)
{
	check_expr(c, n);
	return need_number(c, n);
}

/* -- words -- */

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
 * Returns true if an operation on a and b is signed. A literal takes the sign of the other operand. If one operand is
 * unsigned, the operation is unsigned, as in C.
 */
static bool both_signed(const struct lang_node *a, const struct lang_node *b)
{
	if (a->literal && a->type.is_signed && !b->literal)
		return b->type.is_signed;
	if (b->literal && b->type.is_signed && !a->literal)
		return a->type.is_signed;
	return a->type.is_signed && b->type.is_signed;
}

/*
 * Returns true if the value, the id of a kernel, can be compared with a name. A program knows only the name of the
 * kernel that it runs in; the host knows all names.
 */
static bool names_kernel(struct check *c, const struct lang_node *n)
{
	if (!c->device || n->kind == LANG_N_BUILTIN || c->learning)
		return true;
	if (n->kind == LANG_N_VAR && n->var && !n->var->is_other_kernel)
		return true;
	check_fail(c, n, "compare the word kernel, or a variable that is only set to it",
		   "this may be another kernel than the one that runs, and a program does not know its name");
	return true;
}

/*
 * Check a comparison of strings, such as kernel == "name", func == "name" or str(arg0) == $s. Returns false if this is
 * no such comparison.
 */
static bool check_names(struct check *c, struct lang_node *n)
{
	struct lang_type a = n->a->type, b = n->b->type;

	if (n->op != LANG_T_EQ && n->op != LANG_T_NE)
		return false;
	if (check_same_kind(a, b) && (a.base == LANG_TUPLE || a.base == LANG_BUFFER))
		return true;
	if (n->a->kind == LANG_N_STRING && n->b->kind != LANG_N_STRING) {
		struct lang_node *swap = n->a;

		n->a = n->b;
		n->b = swap;
		a = n->a->type;
		b = n->b->type;
	}
	if (a.base == LANG_KERNEL && b.base == LANG_KERNEL)
		return true;
	if (a.base == LANG_PROCESS && c->host && check_is_text(b))
		return true;
	if ((a.base != LANG_KERNEL || !check_is_text(b) || !names_kernel(c, n->a)) &&
	    (!check_is_text(a) || !check_is_text(b)))
		return false;
	if (n->b->kind == LANG_N_STRING && strlen(n->b->text) > GPUBPF_CTX_NAME - 2)
		check_fail(c, n->b, "select the kernel by the probe instead: gpu/exit/NAME",
			   "names can only be compared with strings of at most 62 bytes");
	return true;
}

static struct lang_type check_binary(struct check *c, struct lang_node *n)
{
	check_value(c, n->a, false);
	check_value(c, n->b, false);
	if (check_moves_pointer(c, n))
		return check_expr(c, n);
	if (logical(n->op) || compares(n->op) || !n->a->literal || !n->b->literal)
		n->literal = false;
	if (compares(n->op) && check_names(c, n))
		return truth;
	need_number(c, n->a);
	need_number(c, n->b);
	n->value = both_signed(n->a, n->b); /* for comparisons: true if signed */
	if (logical(n->op) || compares(n->op))
		return truth;
	return (struct lang_type){ LANG_INT, n->op == LANG_T_SUB || both_signed(n->a, n->b) };
}

static struct lang_type check_unary(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_number(c, n->a);

	return n->op == LANG_T_INVERT ? (struct lang_type){ LANG_INT, type.is_signed } :
	       n->op == LANG_T_NOT    ? truth :
					number;
}

static struct lang_type check_ternary(struct check *c, struct lang_node *n)
{
	struct lang_type b, t;

	check_number(c, n->a);
	b = check_value(c, n->b, true);
	t = check_value(c, n->c, true);
	if (b.base == LANG_VOID && t.base == LANG_VOID)
		return b;
	if (!check_fits_type(b, t) && !check_fits_type(t, b) && !c->learning)
		check_fail(c, n, "give both the same type", "the two values have different types");
	if (check_is_number(b) && check_is_number(t))
		return (struct lang_type){ b.base == LANG_BOOL ? t.base : b.base, both_signed(n->b, n->c) };
	return b;
}

/* Note whether the variable may now hold the id of another kernel than the one that runs. */
static void note_kernel(struct lang_var *var, const struct lang_node *value)
{
	bool is_own = value->kind == LANG_N_BUILTIN ||
		      (value->kind == LANG_N_VAR && value->var && !value->var->is_other_kernel);

	var->is_other_kernel |= value->type.base == LANG_KERNEL && !is_own;
}

static struct lang_type check_set(struct check *c, struct lang_node *n)
{
	struct lang_type type;

	if (n->a->kind == LANG_N_MAP && n->b->kind == LANG_N_CALL && n->b->function && n->b->function->id == LANG_F_TSERIES)
		check_series(c, n);
	if (n->a->kind == LANG_N_MAP && n->b->kind == LANG_N_CALL && n->b->function &&
	    n->b->function->use == LANG_USE_VALUE) {
		check_aggregate(c, n);
		return (struct lang_type){ LANG_VOID };
	}
	if (n->op != LANG_T_NONE)
		type = check_number(c, n->b);
	else
		type = n->a->kind == LANG_N_VAR ? check_struct_or_value(c, n->b) : check_value(c, n->b, true);
	if (type.base == LANG_VOID && c->learning)
		return type;
	if ((type.base == LANG_VOID || type.base == LANG_AGGREGATE) && !c->learning)
		check_fail(c, n->b, "store a number, a string, kernel, ustack or an address",
			   "a value of this kind cannot be stored");
	if (n->a->kind == LANG_N_MAP) {
		check_key(c, n->a);
		check_holds(c, n->a, NULL, type);
		return n->a->type = n->a->map->value;
	}
	if (!n->a->var)
		return check_var(c, n->a);
	note_kernel(n->a->var, n->b);
	if (n->a->var->type.base == LANG_VOID)
		n->a->var->type = type;
	else if (!check_fits_type(n->a->var->type, type) && !(n->a->var->bits && check_is_number(type)) && !c->learning)
		check_fail(c, n, n->a->var->type.base == LANG_BOOL ? "convert it: (bool)x" : "use another variable",
			   "the variable already holds values of another type");
	if (!n->a->var->bits)
		n->a->var->type.is_signed |= type.is_signed;
	if (n->a->var->type.names != type.names)
		n->a->var->type.names = NULL;
	return n->a->type = n->a->var->type;
}

static struct lang_type check_step(struct check *c, struct lang_node *n)
{
	if (n->a->kind == LANG_N_MAP) {
		check_key(c, n->a);
		check_holds(c, n->a, NULL, number);
		return n->a->type = number;
	}
	n->a->type = check_var(c, n->a);
	return need_number(c, n->a);
}

/* -- expressions -- */

static struct lang_type check_cast(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_value(c, n->a, true);

	if (n->elements)
		check_fail(c, n, "use an element: ((uint8[8])x)[0]", "an array is not a value");
	if (n->type.base != LANG_BOOL || !check_is_text(type))
		need_number(c, n->a);
	n->type.in_kernel |= type.in_kernel;
	return n->type;
}

static struct lang_type check_tuple(struct check *c, struct lang_node *n)
{
	struct lang_type type = { LANG_TUPLE };
	bool is_known = true;

	for (struct lang_node *e = n->list; e; e = e->next) {
		struct lang_type element = check_value(c, e, true);

		is_known &= element.base != LANG_VOID;
		if ((element.base == LANG_VOID || element.base == LANG_AGGREGATE) && !c->learning)
			check_fail(c, e, "use numbers, strings, kernel, ustack, addresses or tuples",
				   "a value of this kind cannot be an element of a tuple");
	}
	if (!is_known)
		return (struct lang_type){ LANG_VOID };
	type.shape = check_shape(c, n->list, n->pos);
	return type;
}

static struct lang_type check_list(struct check *c, struct lang_node *n)
{
	for (struct lang_node *s = n->list; s; s = s->next)
		check_statement(c, s);
	return n->a ? check_value(c, n->a, true) : (struct lang_type){ LANG_VOID };
}

/* Check a block whose value is used. On the host, no statement in it can leave the block. */
static struct lang_type check_value_block(struct check *c, struct lang_node *n)
{
	uint32_t loops = c->loops;
	bool inside = c->inside;
	struct lang_type type;

	c->loops = c->host ? 0 : loops;
	c->inside = c->host;
	type = check_list(c, n);
	c->loops = loops;
	c->inside = inside;
	return type;
}

static struct lang_type check_function(struct check *c, struct lang_node *n)
{
	uint32_t loops = c->loops;
	bool inside = c->inside;

	for (struct lang_node *s = n->list; s; s = s->next)
		check_statement(c, s);
	c->loops = 0;
	c->inside = false;
	check_statement(c, n->b);
	c->loops = loops;
	c->inside = inside;
	return n->type;
}

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
		return check_cast(c, n);
	case LANG_N_TUPLE:
		return check_tuple(c, n);
	case LANG_N_PART:
		return check_part(c, n);
	case LANG_N_VALUE:
		return check_value_block(c, n);
	case LANG_N_FN:
		return check_function(c, n);
	case LANG_N_READ:
		return check_read(c, n);
	case LANG_N_MEMBER:
		return check_member(c, n);
	case LANG_N_PLACE:
		return check_place_of(c, n);
	case LANG_N_SIZE:
		return check_size_of(c, n);
	case LANG_N_SET:
		return check_set(c, n);
	case LANG_N_STEP:
		return check_step(c, n);
	case LANG_N_CALL:
		return check_call(c, n);
	default:
		return n->type; /* the parser set the type of literals */
	}
}

/* Macros share their arguments, so a short text may become a tree that is too large. Returns false if this one is. */
static bool may_enter(struct check *c, const struct lang_node *n)
{
	if (++c->height > LANG_HEIGHT || ++c->visits > LANG_VISITS)
		lang_fail(c->l, n->pos, "store parts of it in variables",
			  "the expression is too large or too deep after macros are expanded");
	return !c->l->failed;
}

struct lang_type check_expr(struct check *c, struct lang_node *n)
{
	if (may_enter(c, n))
		n->type = expr_type(c, n);
	c->height--;
	return n->type;
}

/* Check a block expression that is a statement: unlike a block whose value is used, its statements may leave it. */
static void check_value_statement(struct check *c, struct lang_node *n)
{
	if (may_enter(c, n))
		n->type = check_list(c, n);
	c->height--;
}

/* -- statements -- */

bool lang_loop_is_direct(const struct lang_node *n)
{
	return n->kind == LANG_N_FOR && n->value;
}

static bool has_known_range(const struct lang_node *n)
{
	return n->kind == LANG_N_FOR && n->a->kind == LANG_N_NUMBER && n->c->kind == LANG_N_NUMBER;
}

static uint64_t known_steps(const struct lang_node *n)
{
	return (int64_t)n->a->value < (int64_t)n->c->value ? n->c->value - n->a->value : 0;
}

/*
 * Return the maximum number of iterations of a loop whose bounds are computed. It is smaller for nested loops, so that
 * the verifier's limit for the instructions of a thread leaves room for the loops' bodies.
 */
static uint32_t max_steps(const struct check *c, uint32_t nested)
{
	static const uint32_t steps[] = { 4096, 32, 10, 6 };
	const uint32_t last = sizeof(steps) / sizeof(steps[0]) - 1;

	return c->l->settings.max_loop_steps ? (uint32_t)c->l->settings.max_loop_steps :
					       steps[nested < last ? nested : last];
}

/* Check the body of a loop in a kernel, and set n->value if the loop is compiled as jumps. */
static void check_device_loop(struct check *c, struct lang_node *n)
{
	uint64_t steps = has_known_range(n) ? known_steps(n) : 0, outer_steps = c->steps;
	uint32_t inner = c->inner;

	n->value = has_known_range(n) && steps <= LANG_DIRECT_STEPS / c->steps;
	if (steps > LANG_LOOP_STEPS)
		lang_fail(c->l, n->pos, "use several launches or threads, or a loop in interval or END",
			  "the loop has %llu iterations; the maximum in a kernel is %u", (unsigned long long)steps,
			  LANG_LOOP_STEPS);
	c->block->loops |= !n->value;
	c->l->limits |= !has_known_range(n) && n->kind != LANG_N_EACH;
	c->steps *= n->value && steps ? steps : 1;
	c->outer += !n->value;
	c->inner = 0;
	check_statement(c, n->b);
	c->inner += !n->value;
	c->outer -= !n->value;
	c->steps = outer_steps;
	n->steps = has_known_range(n) ? (uint32_t)steps : max_steps(c, c->outer + c->inner - 1);
	c->inner = c->inner > inner ? c->inner : inner;
}

/* The type of the variable in for ($kv : @map): the tuple of the key and the value. */
static void check_each(struct check *c, struct lang_node *n)
{
	struct lang_map *map = n->a->map;

	if ((!map->known || !map->keys_known) && !c->learning)
		lang_fail(c->l, n->a->pos, "set it in a probe: @x[...] = ...", "%s is never set", map->name);
	else if (map->keys_known && !map->nkeys && !c->learning)
		lang_fail(c->l, n->a->pos, "a loop needs a map with keys: @x[tid] = ...", "%s has no keys", map->name);
	else if (map->holds &&
		 (map->holds->id == LANG_F_HIST || map->holds->id == LANG_F_LHIST || map->holds->id == LANG_F_STATS))
		lang_fail(c->l, n->a->pos, "print(@x) prints it", "%s does not have a single value", map->holds->shown);
	map->is_shared |= c->device;
	if (map->known && map->nkeys && n->var)
		n->var->type = check_pair(c, map, n->a->pos);
	if (n->var)
		n->var->is_other_kernel = true;
}

static void check_loop(struct check *c, struct lang_node *n)
{
	if (n->kind == LANG_N_EACH)
		check_each(c, n);
	else
		check_number(c, n->a);
	if (n->kind == LANG_N_FOR)
		check_number(c, n->c);
	c->loops++;
	if (c->device)
		check_device_loop(c, n);
	else
		check_statement(c, n->b);
	c->loops--;
}

/* Check `return`. In a function of the text its value is the result. */
static void check_return(struct check *c, struct lang_node *n)
{
	struct lang_type type = n->a ? check_value(c, n->a, true) : (struct lang_type){ LANG_VOID };
	struct lang_type result = n->c ? n->c->type : number;

	if (c->inside)
		check_fail(c, n, "use if and else", "on the host, return cannot leave a block whose value is used");
	if (c->learning || (!n->c && !n->a))
		return;
	if (result.base == LANG_VOID ? type.base != LANG_VOID : !check_fits_type(result, type))
		lang_fail(c->l, n->pos, "return a value of the type in the definition", "%s returns %s, but this is %s",
			  n->c ? n->c->text : "a probe", check_base_name(result), check_base_name(type));
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
	case LANG_N_EACH:
	case LANG_N_WHILE:
		check_loop(c, n);
		break;
	case LANG_N_BREAK:
	case LANG_N_CONTINUE:
		if (!c->loops)
			check_fail(c, n, c->inside ? "use if and else" : "use return to end the probe",
				   c->inside ? "on the host, this cannot leave a block whose value is used" :
					       "this is not inside a for loop");
		break;
	case LANG_N_RETURN:
		check_return(c, n);
		break;
	case LANG_N_VALUE:
		check_value_statement(c, n);
		break;
	default:
		check_expr(c, n);
	}
}

static void check_block(struct check *c, struct lang_block *b)
{
	c->block = b;
	c->device = c->host = false;
	c->steps = 1;
	c->outer = c->inner = 0;
	for (const struct lang_probe *p = b->probes; p; p = p->next) {
		c->device |= p->when == LANG_ON_DEVICE || p->when == LANG_IN_LINUX;
		c->host |= p->when != LANG_ON_DEVICE && p->when != LANG_IN_LINUX;
	}
	if (b->filter)
		check_number(c, b->filter);
	check_statement(c, b->body);
}

int lang_check(struct lang *l)
{
	struct check c = { .l = l };

	for (int pass = 0; pass < LEARNING_PASSES + 1; pass++) {
		c.learning = pass < LEARNING_PASSES;
		c.guesses = pass == LEARNING_PASSES - 1;
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
