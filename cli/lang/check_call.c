/* SPDX-License-Identifier: Apache-2.0 */
/* Checks calls of functions: their arguments, and which calls are actions. */
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

static uint32_t conversions(const char *format, struct lang_node *arg, struct check *c)
{
	uint32_t n = 0;

	for (const char *f = strchr(format, '%'); f; f = strchr(f, '%')) {
		f++;
		f += strspn(f, "-+ #0123456789.");
		f += strspn(f, "hlz");
		if (*f == '%') {
			f++;
			continue;
		}
		if (!*f || !strchr("diuxXocpsfegrk", *f))
			check_fail(c, arg, "%d %i %u %x %X %o %c %s %p, %f %e %g are supported",
				   "the format has an "
				   "unknown conversion");
		n++;
	}
	return n;
}

/* Return the conversion character for argument i, which decides whether the argument must be a string. */
static char conversion_at(const char *format, uint32_t i)
{
	for (const char *f = strchr(format, '%'); f; f = strchr(f, '%')) {
		f++;
		f += strspn(f, "-+ #0123456789.");
		f += strspn(f, "hlz");
		if (*f == '%')
			f++;
		else if (!i--)
			return *f;
	}
	return 0;
}

static void check_printf(struct check *c, struct lang_node *n)
{
	struct lang_node *format = n->list, *arg = format->next;
	uint32_t args = 0, expected;

	if (format->kind != LANG_N_STRING) {
		check_fail(c, format, "printf(\"%d\\n\", x)", "the format must be a string");
		return;
	}
	check_expr(c, format);
	expected = conversions(format->text, format, c);
	for (; arg; arg = arg->next, args++) {
		struct lang_type type = check_value(c, arg, false);
		bool name = type.base == LANG_KERNEL || type.base == LANG_STACK || check_is_text(type);
		char conv = conversion_at(format->text, args);

		if (type.base == LANG_VOID || type.base == LANG_AGGREGATE)
			check_fail(c, arg, "print(@x) prints maps", "this value cannot be printed");
		else if (conv && (conv == 's') != name && !c->learning)
			lang_fail(c->l, arg->pos, name ? "%s prints it" : "%d prints it", "%%%c does not print %s",
				  conv, check_base_name(type));
	}
	if (args != expected)
		lang_fail(c->l, n->pos, "pass one argument for each conversion",
			  "the format has %u conversions, but "
			  "there are %u arguments",
			  expected, args);
}

static void check_print(struct check *c, struct lang_node *n)
{
	struct lang_node *a = n->list;

	if (a->kind == LANG_N_MAP && !a->list) {
		whole_map(c, a, "print");
	} else if (check_value(c, a, false).base == LANG_VOID && !c->learning) {
		check_fail(c, a, "print(@x) prints a map", "this value cannot be printed");
	} else if (a->next) {
		check_fail(c, a->next, "print(@x, top, div)", "top and div are only for maps");
	}
	for (a = a->next; a; a = a->next)
		if (a->kind != LANG_N_NUMBER || (!a->next && a != n->list->next && !a->value))
			check_fail(c, a, "print(@x, 10, 1000)", "top and div of print() must be numbers, and div not 0");
}

/* Check delete(@x[a]) or its other form delete(@x, a). */
static void check_delete(struct check *c, struct lang_node *n)
{
	struct lang_node *map = n->list;

	if (n->function->id == LANG_F_DELETE)
		check_no_writes(c, n);
	if (map->kind == LANG_N_MAP && !map->list && map->next) {
		map->list = map->next;
		map->value = 1;
		map->next = NULL;
	}
	if (map->kind != LANG_N_MAP || !map->list || map->next) {
		lang_fail(c->l, map->pos,
			  n->function->id == LANG_F_DELETE ? "delete(@x[a]); clear(@x) empties a map" : "has_key(@x[a])",
			  "%s() expects a key of a map", n->function->name);
		return;
	}
	check_key(c, map);
}

static void check_time(struct check *c, struct lang_node *n)
{
	if (n->list && n->list->kind != LANG_N_STRING)
		check_fail(c, n->list, "time(\"%H:%M:%S\\n\")", "the format of time() must be a string");
}

/* Check str(address), str(address, bytes), or str($1), which yields the parameter's text. */
static void check_str(struct check *c, struct lang_node *n)
{
	struct lang_node *bytes = n->list->next;
	struct lang_type type = check_value(c, n->list, false);

	if (type.base == LANG_TEXT)
		check_fits(c, n->list);
	else if (!check_is_number(type) && !c->learning)
		check_fail(c, n->list, "str(arg0)", "str() expects an address");
	else if (c->host)
		check_fail(c, n, "read it in a gpu/ probe, and store it in a map",
			   "str() of an address is only "
			   "possible in kernels");
	if (bytes && (bytes->kind != LANG_N_NUMBER || !bytes->value || bytes->value >= GPUBPF_CTX_NAME))
		lang_fail(c->l, bytes->pos, "omit it to read as many as fit", "str() reads 1 to %u bytes",
			  GPUBPF_CTX_NAME - 1);
}

static void number_action(struct check *c, struct lang_node *n)
{
	struct lang *l = c->l;

	if (c->learning)
		return;
	if (l->nactions == LANG_ACTIONS)
		lang_fail(l, n->pos, "use fewer",
			  "there are more than %u calls of printf(), print() and similar "
			  "functions",
			  LANG_ACTIONS);
	else
		l->action[n->action = l->nactions++] = n;
	l->records |= c->device;
}

struct lang_type check_call(struct check *c, struct lang_node *n)
{
	switch (n->function->id) {
	case LANG_F_PRINTF:
		check_printf(c, n);
		break;
	case LANG_F_PRINT:
		check_print(c, n);
		break;
	case LANG_F_CLEAR:
	case LANG_F_ZERO:
	case LANG_F_LEN:
		whole_map(c, n->list, n->function->name);
		break;
	case LANG_F_DELETE:
	case LANG_F_HAS_KEY:
		check_delete(c, n);
		break;
	case LANG_F_TIME:
		check_time(c, n);
		break;
	case LANG_F_STR:
		check_str(c, n);
		return (struct lang_type){ LANG_NAME };
	default:
		break;
	}
	if (n->function->use == LANG_USE_VALUE)
		lang_fail(c->l, n->pos, "store it in a map: @x = ...", "the result of %s() can only be stored in a map",
			  n->function->name);
	if (n->function->use == LANG_USE_HOST && c->device)
		lang_fail(c->l, n->pos, "use it in END or interval", "%s() only runs on the host", n->function->name);
	if (n->function->use == LANG_USE_ACTION)
		number_action(c, n);
	return n->function->id == LANG_F_HAS_KEY || n->function->id == LANG_F_LEN ? (struct lang_type){ LANG_INT, true } :
										    (struct lang_type){ LANG_VOID };
}
