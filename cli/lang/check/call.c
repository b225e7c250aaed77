/* SPDX-License-Identifier: Apache-2.0 */
/* Checks calls of functions: the types of their arguments, and which calls are actions. */
#include "check.h"

#include <string.h>

#include "gpubpf/ctx.h"

static bool whole_map(struct check *c, struct lang_node *n, const char *name)
{
	if (n->kind == LANG_N_MAP && !n->list) {
		if (!n->map->known && !c->learning)
			lang_fail(c->l, n->pos, "set it in a probe: @x = ...", "%s is never set", n->map->name);
		return true;
	}
	lang_fail(c->l, n->pos, "omit its key", "%s() expects a whole map", name);
	return false;
}

/* Check a value that print() prints. An aggregation with a key, such as @x[1], is printed as in print(@x). */
static struct lang_type check_printed(struct check *c, struct lang_node *n)
{
	return check_value(c, n, false);
}

static void check_print(struct check *c, struct lang_node *n)
{
	struct lang_node *a = n->list;

	if (a->kind == LANG_N_MAP && !a->list) {
		whole_map(c, a, "print");
	} else if (check_printed(c, a).base == LANG_VOID && !c->learning) {
		check_fail(c, a, "print(@x) prints a map", "this value cannot be printed");
	} else if (a->next) {
		check_fail(c, a->next, "print(@x, top, div)", "top and div are only possible for maps");
	}
	for (a = a->next; a; a = a->next)
		if (a->kind != LANG_N_NUMBER || (!a->next && a != n->list->next && !a->value))
			check_fail(c, a, "print(@x, 10, 1000)", "top and div of print() must be numbers, and div not 0");
}

/* Make the second argument the key of the first: delete(@x, a) becomes delete(@x[a]). A tuple has all parts of the key. */
static void join_key(struct lang_node *map)
{
	struct lang_node *key = map->next, *rest = key->next;

	map->list = key->kind == LANG_N_TUPLE ? key->list : key;
	map->value = key->kind == LANG_N_TUPLE ? key->value : 1;
	map->next = rest;
	key->next = NULL;
}

/* Check delete(@x[a]) and has_key(@x[a]), or their other forms delete(@x, a) and has_key(@x, a). */
static struct lang_type check_map_key(struct check *c, struct lang_node *n)
{
	struct lang_node *map = n->list;
	bool deletes = n->function->id == LANG_F_DELETE;

	if (map->kind == LANG_N_MAP && !map->list && map->next)
		join_key(map);
	if (map->kind != LANG_N_MAP || (!map->list && !deletes) || (map->next && n->function->id != LANG_F_FIND)) {
		lang_fail(c->l, map->pos, deletes ? "delete(@x, a), or clear(@x) to remove all keys" : n->function->shown,
			  "%s() expects a map and a key", n->function->name);
		return (struct lang_type){ LANG_BOOL };
	}
	check_key(c, map);
	if (!map->map->known && !c->learning)
		lang_fail(c->l, map->pos, "set it in a probe: @x = ...", "%s is never set", map->map->name);
	return (struct lang_type){ LANG_BOOL };
}

/* Check find(@x, key, $v), which sets $v. */
static struct lang_type check_find(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_map_key(c, n), value;
	struct lang_node *var = n->list->next;

	if (!var || var->kind != LANG_N_VAR || !var->var) {
		lang_fail(c->l, n->pos, "let $v; if (find(@x, key, $v)) { ... }", "find() stores the value in a variable");
		return type;
	}
	value = check_map_read(c, n->list);
	if (var->var->type.base == LANG_VOID && n->list->map->known)
		var->var->type = value;
	else if (!check_fits_type(var->var->type, value) && !c->learning)
		check_fail(c, var, "use another variable", "the variable already holds values of another type");
	var->var->is_other_kernel = true;
	var->type = var->var->type;
	return type;
}

static void check_time(struct check *c, struct lang_node *n)
{
	if (n->list && n->list->kind != LANG_N_STRING)
		check_fail(c, n->list, "time(\"%H:%M:%S\\n\")", "the format of time() must be a string");
}

/* Check an address that str() or buf() reads from. An array of the application's memory is the address of its first element. */
static struct lang_type check_memory(struct check *c, struct lang_node *n)
{
	bool may_be_array = n->kind == LANG_N_MEMBER || n->kind == LANG_N_READ || n->kind == LANG_N_BUILTIN;

	return may_be_array ? check_expr(c, n) : check_value(c, n, false);
}

/* Turn $1 + n in str($1 + n) into the text of the parameter without its first n characters. */
static void skip_characters(struct lang_node *n)
{
	const char *text = n->kind == LANG_N_BINARY && n->op == LANG_T_ADD && n->b->kind == LANG_N_NUMBER ? n->a->text :
													    NULL;

	if (!text || (n->a->kind != LANG_N_STRING && n->a->kind != LANG_N_NUMBER))
		return;
	n->kind = LANG_N_STRING;
	n->text = text + (n->b->value < strlen(text) ? n->b->value : strlen(text));
}

/* Check str(address), str(address, bytes) or str($1). str($1) yields the text of the parameter. */
static void check_str(struct check *c, struct lang_node *n)
{
	struct lang_node *bytes = n->list->next;
	struct lang_type type;

	skip_characters(n->list);
	if (n->list->kind == LANG_N_NUMBER && n->list->text)
		n->list->kind = LANG_N_STRING; /* str($1) is the text of the parameter, even if it is a number */
	if (n->list->kind == LANG_N_STRING)
		n->list->type = (struct lang_type){ LANG_TEXT };
	type = check_memory(c, n->list);
	if (type.base == LANG_TEXT && n->list->kind == LANG_N_STRING)
		check_fits(c, n->list);
	else if (check_is_text(type))
		;
	else if (type.base == LANG_ARRAY && !c->host)
		;
	else if (!check_is_number(type) && !c->learning)
		check_fail(c, n->list, "str(arg0)", "str() expects an address");
	else if (c->host)
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map",
			   "only gpu/ probes can call str() with an address");
	if (bytes && (bytes->kind != LANG_N_NUMBER || !bytes->value || bytes->value >= GPUBPF_CTX_NAME))
		lang_fail(c->l, bytes->pos, "omit the number of bytes to read as many as fit",
			  "str() reads 1 to %u bytes", GPUBPF_CTX_NAME - 1);
}

/* Check buf(address [, bytes]). The number of bytes is known, so that records and keys have a fixed size. */
static struct lang_type check_buf(struct check *c, struct lang_node *n)
{
	struct lang_node *bytes = n->list->next;
	uint32_t size = bytes && bytes->kind == LANG_N_NUMBER ? (uint32_t)bytes->value : LANG_BUFFER_SIZE;

	struct lang_type type = check_memory(c, n->list);

	if (!bytes && n->list->kind == LANG_N_STRING && n->list->text[0] && strlen(n->list->text) < size)
		size = (uint32_t)strlen(n->list->text);
	if (check_is_text(type))
		check_value(c, n->list, true);
	else if (type.base != LANG_ARRAY)
		check_number(c, n->list);
	else if (!bytes && n->list->type.c->bytes && n->list->type.c->bytes < size)
		size = n->list->type.c->bytes;
	if (bytes)
		check_number(c, bytes);
	if (c->host && !check_is_text(type))
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map",
			   "BEGIN, END and interval can only call buf() with a string");
	else if (bytes && bytes->kind == LANG_N_NUMBER && (!bytes->value || bytes->value > LANG_BUFFER_SIZE))
		lang_fail(c->l, bytes->pos, "read it in parts", "buf() reads 1 to %u bytes", LANG_BUFFER_SIZE);
	return (struct lang_type){ LANG_BUFFER, .bytes = size };
}

static void need_text(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_value(c, n, true);

	if (!check_is_text(type) && (type.base != LANG_KERNEL || n->kind != LANG_N_BUILTIN) && !c->learning)
		lang_fail(c->l, n->pos, "str(arg0) is the string at an address",
			  "a string is needed here, but this is %s", check_base_name(type));
}

/* Check strncmp(), strcontains(), strstr() and strlen(). */
static struct lang_type check_strings(struct check *c, struct lang_node *n)
{
	struct lang_node *second = n->list->next, *count = second ? second->next : NULL;
	bool finds = n->function->id == LANG_F_STRCONTAINS || n->function->id == LANG_F_STRSTR;

	need_text(c, n->list);
	if (second)
		need_text(c, second);
	if (finds && second->kind != LANG_N_STRING && c->device)
		check_fail(c, second, "strcontains(func, \"text\")", "the text to find must be a literal");
	if (count && count->kind != LANG_N_NUMBER)
		check_fail(c, count, "strncmp(func, \"text\", 4)", "the number of bytes must be a number");
	return n->function->id == LANG_F_STRCONTAINS ? (struct lang_type){ LANG_BOOL } :
						       (struct lang_type){ LANG_INT, true };
}

/* Check strerror(n) and similar functions. The host finds the text when it prints the number. */
static struct lang_type check_label(struct check *c, struct lang_node *n)
{
	static const enum lang_label labels[LANG_FUNCTIONS] = { [LANG_F_STRERROR] = LANG_LABEL_ERROR,
								[LANG_F_KSYM] = LANG_LABEL_KERNEL_SYMBOL,
								[LANG_F_SYSCALL_NAME] = LANG_LABEL_SYSCALL,
								[LANG_F_CGROUP_PATH] = LANG_LABEL_CGROUP };

	check_number(c, n->list);
	return (struct lang_type){ LANG_LABEL, .label = labels[n->function->id] };
}

static uint32_t array_bytes(struct lang_type type)
{
	return type.base == LANG_ARRAY ? type.c->bytes : 0;
}

/* Check ntop(address) and ntop(family, address). The address is a number, or an array of 4 or 16 bytes. */
static struct lang_type check_ntop(struct check *c, struct lang_node *n)
{
	struct lang_type type;

	if (n->list->next) {
		check_number(c, n->list);
		n->list = n->list->next; /* the type of the address shows its family */
	}
	type = check_memory(c, n->list);
	if (array_bytes(type) == 16)
		return (struct lang_type){ LANG_BUFFER, .bytes = 16, .label = LANG_LABEL_IP6 };
	if (array_bytes(type) == 4)
		n->value = 4;
	else if (!check_is_number(type) && !c->learning)
		check_fail(c, n->list, "ntop(args.saddr)", "ntop() expects a number, or an array of 4 or 16 bytes");
	return (struct lang_type){ LANG_LABEL, .label = LANG_LABEL_IP4 };
}

/* Check macaddr(address). */
static struct lang_type check_macaddr(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_memory(c, n->list);

	n->value = 6;
	if (type.base != LANG_ARRAY && type.base != LANG_RECORD && !check_is_number(type) && !c->learning)
		check_fail(c, n->list, "macaddr(args.addr)", "macaddr() expects an address");
	else if (c->host)
		check_fail(c, n, "read it in another probe, and store it in a map",
			   "BEGIN, END and interval cannot call macaddr()");
	return (struct lang_type){ LANG_LABEL, .label = LANG_LABEL_MAC };
}

/* Refuse a function that only probes of the Linux kernel can call. */
static void need_linux(struct check *c, const struct lang_node *n, const char *instead)
{
	if (!lang_is_linux(c->block))
		lang_fail(c->l, n->pos, instead, "%s() is only for probes of the Linux kernel", n->function->name);
}

static struct lang_type check_usym(struct check *c, struct lang_node *n)
{
	need_linux(c, n, "use kernel or func; both are names and print as text");
	check_number(c, n->list);
	return (struct lang_type){ LANG_FRAME_LIST, .bytes = 1, .label = LANG_LABEL_FUNCTION };
}

static void check_join(struct check *c, struct lang_node *n)
{
	struct lang_type type = check_memory(c, n->list);

	need_linux(c, n, "use printf() to print values");
	if (type.base != LANG_ARRAY && !check_is_number(type) && !c->learning)
		check_fail(c, n->list, "join(args.argv)", "join() expects the address of an array of addresses");
	if (n->list->next && n->list->next->kind != LANG_N_STRING)
		check_fail(c, n->list->next, "join(args.argv, \", \")", "the text between the strings must be a literal");
}

static struct lang_type check_bswap(struct check *c, struct lang_node *n)
{
	check_number(c, n->list);
	n->value = n->list->kind == LANG_N_CAST ? n->list->value : 64;
	return (struct lang_type){ LANG_INT, false };
}

/* Check len(@x), which only runs on the host, and len(string). */
static struct lang_type check_len(struct check *c, struct lang_node *n)
{
	if (n->list->kind != LANG_N_MAP || n->list->list) {
		need_text(c, n->list);
		return (struct lang_type){ LANG_INT, true };
	}
	whole_map(c, n->list, n->function->name);
	if (c->device)
		lang_fail(c->l, n->pos, "use it in END or interval", "%s() of a map only runs on the host",
			  n->function->name);
	return (struct lang_type){ LANG_INT, true };
}

static void check_exit(struct check *c, struct lang_node *n)
{
	if (n->list && (n->list->kind != LANG_N_NUMBER || n->list->value > UINT8_MAX))
		check_fail(c, n->list, "exit(1)", "the status of exit() must be a number from 0 to 255");
}

static void check_assert(struct check *c, struct lang_node *n)
{
	check_number(c, n->list);
	if (n->list->next->kind != LANG_N_STRING)
		check_fail(c, n->list->next, "assert(@x < 10, \"too many\")", "the text of assert() must be a string");
}

static void number_action(struct check *c, struct lang_node *n)
{
	struct lang *l = c->l;

	if (c->learning)
		return;
	if (l->nactions == LANG_ACTIONS)
		lang_fail(l, n->pos, "use fewer",
			  "there are more than %u calls of printf(), print() and similar functions", LANG_ACTIONS);
	else
		l->action[n->action = l->nactions++] = n;
	l->records |= c->device;
}

static struct lang_type call_type(struct check *c, struct lang_node *n)
{
	switch (n->function->id) {
	case LANG_F_PRINTF:
	case LANG_F_WARNF:
	case LANG_F_ERRORF:
	case LANG_F_CAT:
		check_format(c, n);
		break;
	case LANG_F_PRINT:
		check_print(c, n);
		break;
	case LANG_F_CLEAR:
	case LANG_F_ZERO:
		whole_map(c, n->list, n->function->name);
		break;
	case LANG_F_DELETE:
	case LANG_F_HAS_KEY:
		return check_map_key(c, n);
	case LANG_F_FIND:
		return check_find(c, n);
	case LANG_F_TIME:
		check_time(c, n);
		break;
	case LANG_F_EXIT:
		check_exit(c, n);
		break;
	case LANG_F_ASSERT:
		check_assert(c, n);
		break;
	case LANG_F_STR:
		check_str(c, n);
		return (struct lang_type){ LANG_NAME };
	case LANG_F_BUF:
		return check_buf(c, n);
	case LANG_F_STRFTIME:
		return check_strftime(c, n);
	case LANG_F_STRNCMP:
	case LANG_F_STRCONTAINS:
	case LANG_F_STRSTR:
	case LANG_F_STRLEN:
		return check_strings(c, n);
	case LANG_F_STRERROR:
	case LANG_F_KSYM:
	case LANG_F_SYSCALL_NAME:
	case LANG_F_CGROUP_PATH:
		return check_label(c, n);
	case LANG_F_NTOP:
		return check_ntop(c, n);
	case LANG_F_MACADDR:
		return check_macaddr(c, n);
	case LANG_F_USYM:
		return check_usym(c, n);
	case LANG_F_JOIN:
		check_join(c, n);
		break;
	case LANG_F_BSWAP:
		return check_bswap(c, n);
	case LANG_F_LEN:
		return check_len(c, n);
	default:
		break;
	}
	return (struct lang_type){ LANG_VOID };
}

struct lang_type check_call(struct check *c, struct lang_node *n)
{
	struct lang_type type = call_type(c, n);

	if (n->function->use == LANG_USE_VALUE)
		lang_fail(c->l, n->pos, "store it in a map: @x = ...", "the result of %s() can only be stored in a map",
			  n->function->name);
	if (n->function->use == LANG_USE_ACTION || n->function->id == LANG_F_ASSERT)
		number_action(c, n);
	return type;
}
