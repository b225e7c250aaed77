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
		[LANG_VOID] = "nothing", [LANG_INT] = "a number", [LANG_KERNEL] = "a kernel", [LANG_ADDRESS] = "an address", [LANG_STACK] = "a stack",
		[LANG_NAME] = "a string", [LANG_TEXT] = "a string", [LANG_AGGREGATE] = "an aggregation",
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

/* Does a string of the object fit into a stored string? */
void check_fits(struct check *c, const struct lang_node *n)
{
	for (const struct lang_probe *p = c->block->probes; p; p = p->next)
		if (strlen(n->kind == LANG_N_STRING ? n->text : p->section) >= GPUBPF_CTX_NAME)
			lang_fail(c->l, n->pos, "shorten it", "strings have at most %u bytes", GPUBPF_CTX_NAME - 1);
}

/* Check a value of any type. kept: the value is stored, not only printed, so a string needs bytes in the object. */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored)
{
	struct lang_type type = check_expr(c, n);

	if (check_is_text(type) && n->kind == LANG_N_SET)
		check_fail(c, n, "set the variable in a statement of its own", "the assignment of a string cannot be "
									       "used as a value");
	if (!stored || type.base != LANG_TEXT)
		return type;
	check_fits(c, n);
	return n->type = (struct lang_type){ LANG_NAME };
}

/* The node, which is checked already, must be a number. */
static struct lang_type need_number(struct check *c, const struct lang_node *n)
{
	struct lang_type type = n->type;
	char what[96];

	if (check_is_number(type) || c->learning)
		return type;
	snprintf(what, sizeof(what), "this is %s where a number is needed", check_base_name(type));
	check_fail(c, n, type.base == LANG_KERNEL ? "kernel == \"name\" compares it; as a key it is shown as its name" :
	     "compute it from numbers", what);
	return number;
}

static struct lang_type check_number(struct check *c, struct lang_node *n)
{
	check_expr(c, n);
	return need_number(c, n);
}

/* -- words -- */

/* The operands (as a bit mask) that a place must provide for the word to be valid. */
static uint32_t required_operands(const struct lang_builtin *b)
{
	const char *field = b->source == LANG_SOURCE_CTX ? lang_place_field(b->at) : NULL;

	return field ? 1u << gpubpf_operand_of(field) : 0;
}

/* A field that a place does not provide reads as 0, which would be misleading, so the word is refused there. */
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
		check_fail(c, n, b->source == LANG_SOURCE_DURATION ? "use nsecs, or gpu/exit/" :
		     b->base == LANG_NAME ? "kernel is the kernel's name" :
		     "gpubpf-prog(8) lists the fields of each place", what);
	}
}

static struct lang_type check_builtin(struct check *c, struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;
	bool anywhere = b->source == LANG_SOURCE_PROBE || (b->source == LANG_SOURCE_HELPER && (b->at == 5 || b->at == 7));
	char what[96];

	snprintf(what, sizeof(what), "%s is for %s", b->name, b->source == LANG_SOURCE_HOST ? "BEGIN, END and interval "
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

/* -- maps -- */

static void name_key(struct check *c, struct lang_map *map, uint32_t i, const struct lang_node *n)
{
	static const char *const part[] = { "", "_x", "_y", "_z" };
	const char *name = NULL;

	if (n->kind == LANG_N_CAST)
		n = n->a;
	if (n->kind == LANG_N_BUILTIN)
		name = lang_format(c->l, "%s%s", n->text ? n->text : n->builtin.name, part[n->value & 3]);
	else if (n->kind == LANG_N_VAR && n->text)
		name = lang_copy(c->l, n->text + 1, strlen(n->text) - 1);
	for (uint32_t k = 0; name && k < i; k++)
		if (!strcmp(name, map->key_name[k]))
			name = NULL;
	map->key_name[i] = name && !strpbrk(name, ".[") ? name : lang_format(c->l, "key%u", i);
}

static void learn_keys(struct check *c, struct lang_map *map, const struct lang_node *n)
{
	const struct lang_node *k = n->list;

	map->keys_known = true;
	map->nkeys = n->value;
	for (uint32_t i = 0; i < map->nkeys && i < LANG_KEYS && k; i++, k = k->next) {
		map->key[i] = k->type;
		name_key(c, map, i, k);
	}
}

static void report_key_mismatch(struct check *c, const struct lang_node *n, const char *what)
{
	uint32_t line, column;

	lang_line_column(c->l, n->map->pos, &line, &column);
	lang_fail(c->l, n->pos, "use the same keys everywhere, or another map",
		  "%s %s here than at %u:%u", n->map->name, what, line, column);
}

/* Compare the key of this use with the key of the first use. */
void check_key(struct check *c, struct lang_node *n)
{
	struct lang_node *k = n->list;
	uint32_t i = 0, size = 0;

	for (; k; k = k->next) {
		struct lang_type type = check_value(c, k, true);

		size += lang_size(type);
		if (type.base == LANG_AGGREGATE || (type.base == LANG_VOID && !c->learning))
			check_fail(c, k, "keys are numbers, strings, kernel, ustack and addresses", "this cannot be "
												    "part of a key");
	}
	if (size > LANG_KEY_SIZE)
		lang_fail(c->l, n->pos, "combine some elements", "the key has %u bytes; the maximum is %u", size, LANG_KEY_SIZE);
	if (!n->map->keys_known)
		learn_keys(c, n->map, n);
	if (n->value != n->map->nkeys)
		report_key_mismatch(c, n, "has another number of keys");
	for (k = n->list; k && i < n->map->nkeys; k = k->next, i++) {
		if (k->type.base != n->map->key[i].base && !c->learning)
			report_key_mismatch(c, n, "has keys of other types");
		n->map->key[i].is_signed |= k->type.is_signed && !k->literal;
	}
}

static bool is_same_function(const struct lang_function *a, const struct lang_function *b)
{
	return (a ? a->id : LANG_FUNCTIONS) == (b ? b->id : LANG_FUNCTIONS);
}

/* Record or compare what the map holds. */
static void check_holds(struct check *c, struct lang_node *n, const struct lang_function *holds, struct lang_type value)
{
	struct lang_map *map = n->map;
	uint32_t line, column;

	if (!map->known) {
		map->known = true;
		map->holds = holds;
		map->value = value;
		map->pos = n->pos;
	}
	lang_line_column(c->l, map->pos, &line, &column);
	if (!is_same_function(map->holds, holds))
		lang_fail(c->l, n->pos, "use another map", "%s holds %s at %u:%u, and %s here", map->name,
			  map->holds ? map->holds->shown : "a number", line, column, holds ? holds->shown : "a number");
	else if (map->value.base != value.base && !c->learning)
		lang_fail(c->l, n->pos, "use another map", "%s holds %s at %u:%u, and %s here", map->name,
			  check_base_name(map->value), line, column, check_base_name(value));
	map->value.is_signed |= value.is_signed;
}

static struct lang_type check_map_read(struct check *c, struct lang_node *n)
{
	const struct lang_function *holds = n->map->holds;
	bool on_device;

	check_key(c, n);
	if (!n->map->known && !c->learning)
		lang_fail(c->l, n->pos, "set it in a probe: @x = ...", "%s is read but never set", n->map->name);
	if (!holds)
		return n->map->known ? n->map->value : number;
	on_device = holds->id == LANG_F_COUNT || holds->id == LANG_F_SUM;
	if (holds->id == LANG_F_HIST || holds->id == LANG_F_LHIST || holds->id == LANG_F_STATS)
		lang_fail(c->l, n->pos, "print(@x) prints it", "%s does not have a single value", holds->shown);
	else if (!on_device && c->device)
		lang_fail(c->l, n->pos, "read it in END or interval", "%s cannot be read in a kernel", holds->shown);
	return (struct lang_type){ LANG_INT, n->map->value.is_signed };
}

/* -- map values -- */

/* BTF can describe a linear histogram with bounds below 2^31 (include/gpubpf/probe.h). */
static void check_lhist(struct check *c, struct lang_node *map, struct lang_node *call)
{
	struct lang_node *arg = call->list->next;
	uint64_t v[3] = {0}, slots;

	for (uint32_t i = 0; i < 3 && arg; i++, arg = arg->next) {
		if (arg->kind != LANG_N_NUMBER || arg->value >= 1ull << 31)
			check_fail(c, arg, "lhist(n, 0, 100, 10)", "min, max and step of lhist() must be numbers from "
								   "0 to 2^31 - 1");
		v[i] = arg->value;
	}
	if (c->l->failed)
		return;
	if (!v[2] || v[1] <= v[0]) {
		check_fail(c, call, "lhist(n, 0, 100, 10)", "lhist() needs min below max, and a step above 0");
		return;
	}
	slots = (v[1] - v[0] + v[2] - 1) / v[2] + 2;
	if (slots > LANG_SLOTS)
		lang_fail(c->l, call->pos, "use larger steps", "the histogram has %llu slots; the maximum is %u",
			  (unsigned long long)slots, LANG_SLOTS);
	if (map->map->step && (map->map->min != v[0] || map->map->max != v[1] || map->map->step != v[2]))
		check_fail(c, call, "use another map", "the map has other bounds in another place");
	map->map->min = v[0];
	map->map->max = v[1];
	map->map->step = v[2];
}

/* hist(n, bits): 2^bits slots per power of two. The last slot counts all larger values. */
static void check_hist(struct check *c, struct lang_map *map, struct lang_node *call)
{
	struct lang_node *arg = call->list->next;
	uint32_t bits = arg ? arg->value : 0;

	if (arg && (arg->kind != LANG_N_NUMBER || arg->value > LANG_HIST_BITS))
		lang_fail(c->l, arg->pos, "hist(n, 3) has eight slots per power of two", "the bits of hist() must be a "
											 "number from 0 to %u",
			  LANG_HIST_BITS);
	else if (map->fine && map->fine != bits + 1)
		check_fail(c, call, "use another map", "the map has other bits in another place");
	else
		map->fine = bits + 1;
}

static void check_aggregate(struct check *c, struct lang_node *n)
{
	struct lang_node *call = n->b;
	struct lang_type value = { LANG_INT, false };

	if (n->op != LANG_T_NONE)
		check_fail(c, n, "@x = count()", "aggregations can only be assigned with =");
	check_key(c, n->a);
	if (call->list)
		value.is_signed = check_number(c, call->list).is_signed && !call->list->literal;
	call->type = (struct lang_type){ LANG_AGGREGATE, value.is_signed };
	check_holds(c, n->a, call->function, value);
	if (call->function->id == LANG_F_LHIST)
		check_lhist(c, n->a, call);
	if (call->function->id == LANG_F_HIST)
		check_hist(c, n->a->map, call);
}

/* -- operators -- */

static bool compares(enum lang_token op)
{
	return op == LANG_T_EQ || op == LANG_T_NE || op == LANG_T_LT || op == LANG_T_LE || op == LANG_T_GT || op == LANG_T_GE;
}

static bool logical(enum lang_token op)
{
	return op == LANG_T_LAND || op == LANG_T_LOR;
}

/* A literal takes the other operand's sign. If the signs differ, the operation is unsigned, as in C. */
static bool both_signed(const struct lang_node *a, const struct lang_node *b)
{
	if (a->literal && a->type.is_signed && !b->literal)
		return b->type.is_signed;
	if (b->literal && b->type.is_signed && !a->literal)
		return a->type.is_signed;
	return a->type.is_signed && b->type.is_signed;
}

/* kernel == "name", func == "name", str(arg0) == $s */
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
	if ((a.base != LANG_KERNEL || n->a->kind != LANG_N_BUILTIN || n->b->kind != LANG_N_STRING) && (!check_is_text(a) || !check_is_text(b)))
		return false;
	if (n->b->kind == LANG_N_STRING && strlen(n->b->text) > GPUBPF_CTX_NAME - 2)
		check_fail(c, n->b, "put it into the probe: gpu/exit/NAME", "names can only be compared with strings "
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
	n->value = both_signed(n->a, n->b);    /* true: a signed comparison */
	if (logical(n->op) || compares(n->op))
		return number;
	return (struct lang_type){ LANG_INT, n->op == LANG_T_SUB || both_signed(n->a, n->b) };
}

static struct lang_type check_unary(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_number(c, n->a);

	return n->op == LANG_T_INVERT ? (struct lang_type){ LANG_INT, type.is_signed } : number;
}

/* *(uint32 *)arg0, ((uint32 *)arg0)[tid] */
static struct lang_type check_read(struct check *c, struct lang_node *n)
{
	struct lang_type address = check_value(c, n->a, false);

	if (n->b)
		check_number(c, n->b);
	if (c->learning)
		return (struct lang_type){ LANG_INT, address.to_signed };
	if (c->host)
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map", "the application's memory can only "
										  "be read in kernels");
	else if (address.base != LANG_ADDRESS || !address.to)
		check_fail(c, n, "*(uint32 *)arg0, ((uint32 *)arg0)[i], or declare the argument: gpu/entry/NAME(uint32 *a)",
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
		check_fail(c, n->b, "numbers, strings, kernel, ustack and addresses can be stored", "this cannot be "
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
		return n->type;        /* literals */
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

bool lang_map_is_array(const struct lang_map *map)
{
	bool extreme = map->holds && (map->holds->id == LANG_F_MIN || map->holds->id == LANG_F_MAX);

	return !map->nkeys && !extreme && (map->holds || map->value.base == LANG_INT);
}

static void size_map(struct lang *l, struct lang_map *map)
{
	static const uint32_t sizes[LANG_FUNCTIONS] = {
		[LANG_F_COUNT] = 8, [LANG_F_SUM] = 8, [LANG_F_AVG] = 16, [LANG_F_STATS] = 16, [LANG_F_MIN] = 16,
		[LANG_F_MAX] = 16,
	};
	uint32_t bits = map->fine - 1, fine = map->fine > 1 ? (65 - bits) << bits : 64;

	map->value_size = map->holds ? sizes[map->holds->id] : lang_size(map->value);
	if (map->holds && map->holds->id == LANG_F_HIST)
		map->value_size = 8 * (fine < LANG_SLOTS ? fine : LANG_SLOTS);
	if (map->holds && map->holds->id == LANG_F_LHIST)
		map->value_size = 8 * ((map->max - map->min + map->step - 1) / map->step + 2);
	map->key_size = 4;
	for (uint32_t i = 0; i < map->nkeys; i++)
		map->key_size = (i ? map->key_size : 0) + lang_size(map->key[i]);
	l->zeros |= map->nkeys;
	if (map->nkeys && map->value_size > l->zeros_size)
		l->zeros_size = map->value_size;
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
			size_map(l, m);
	}
	return l->failed ? -EINVAL : 0;
}
