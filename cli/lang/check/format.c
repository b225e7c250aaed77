/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the formats of strftime(), printf() and similar functions, and their arguments. */
#include "check.h"

static uint32_t count_conversions(struct check *c, const struct lang_node *format)
{
	struct lang_conversion conversion;
	uint32_t n = 0;

	for (const char *at = lang_conversion(format->text, &conversion); at; at = lang_conversion(at, &conversion)) {
		if (!conversion.name)
			check_fail(c, format, "%d %i %u %x %X %o %c %s %p %r, %f %e %g are supported",
				   "the format has an unknown conversion");
		n += conversion.name != '%';
	}
	return n;
}

/* Return the name of the conversion for argument i of printf(), or 0. */
static char conversion_at(const char *format, uint32_t i)
{
	struct lang_conversion conversion;

	for (const char *at = lang_conversion(format, &conversion); at; at = lang_conversion(at, &conversion))
		if (conversion.name != '%' && !i--)
			return conversion.name;
	return 0;
}

static bool is_printed_as_text(struct lang_type type)
{
	return type.base == LANG_KERNEL || type.base == LANG_STACK || type.base == LANG_TIME ||
	       type.base == LANG_PROCESS || type.base == LANG_LABEL || type.base == LANG_FRAME_LIST ||
	       type.base == LANG_TUPLE || (type.base == LANG_BUFFER && type.label) || check_is_text(type);
}

/* Returns true if the conversion prints values of this type. %s prints true, false and enumerators, too. */
static bool prints(char conversion, struct lang_type type)
{
	if (conversion == 's')
		return is_printed_as_text(type) || type.base == LANG_BOOL || type.names;
	if (conversion == 'r')
		return type.base == LANG_BUFFER;
	return !is_printed_as_text(type) && type.base != LANG_BUFFER;
}

static const char *conversion_for(struct lang_type type)
{
	return is_printed_as_text(type) ? "%s prints it" : type.base == LANG_BUFFER ? "%r prints it" : "%d prints it";
}

static void check_argument(struct check *c, struct lang_node *arg, char conversion)
{
	struct lang_type type = check_value(c, arg, false);

	if (c->learning)
		return;
	if (type.base == LANG_VOID || type.base == LANG_AGGREGATE)
		check_fail(c, arg, "print(@x) prints maps", "this value cannot be printed");
	else if (conversion && !prints(conversion, type))
		lang_fail(c->l, arg->pos, conversion_for(type), "%%%c does not print %s", conversion,
			  check_base_name(type));
}

void check_format(struct check *c, struct lang_node *n)
{
	struct lang_node *format = n->list, *arg = format->next;
	uint32_t args = 0, expected;

	if (format->kind != LANG_N_STRING) {
		check_fail(c, format, "printf(\"%d\\n\", x)", "the format must be a string");
		return;
	}
	check_expr(c, format);
	expected = count_conversions(c, format);
	for (; arg; arg = arg->next, args++)
		check_argument(c, arg, conversion_at(format->text, args));
	if (args != expected)
		lang_fail(c->l, n->pos, "pass one argument for each conversion",
			  "the format has %u conversions, but there are %u arguments", expected, args);
}

struct lang_type check_strftime(struct check *c, struct lang_node *n)
{
	if (n->list->kind != LANG_N_STRING)
		check_fail(c, n->list, "strftime(\"%H:%M:%S\", nsecs)", "the format of strftime() must be a string");
	check_number(c, n->list->next);
	return (struct lang_type){ LANG_TIME, .format = n->list->kind == LANG_N_STRING ? n->list->text : "" };
}
