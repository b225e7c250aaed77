/* SPDX-License-Identifier: Apache-2.0 */
/* Finds properties of an expression that only its text shows, because libclang does not report them. */
#include <ctype.h>
#include <string.h>

#include "walk.h"

bool clread_has_directive(const char *text, size_t from, size_t to)
{
	for (size_t at = from; at < to; at++) {
		if (text[at] != '\n')
			continue;
		while (at + 1 < to && isspace((unsigned char)text[at + 1]))
			at++;
		if (at + 1 < to && text[at + 1] == '#')
			return true;
	}
	return false;
}

bool clread_read_member(const char *name, size_t n, uint32_t elements, uint32_t *first, uint32_t *count)
{
	static const char xyzw[] = "xyzw", digits[] = "0123456789abcdef";
	uint32_t half = (elements + 1) / 2;

	if (n == 2 && !strncmp(name, "lo", 2) && elements != 3)
		return *first = 0, *count = half, true;
	if (n == 2 && !strncmp(name, "hi", 2) && elements != 3)
		return *first = half, *count = half, true;
	for (size_t i = name[0] == 's' || name[0] == 'S'; i < n; i++) {
		const char *set = name[0] == 's' || name[0] == 'S' ? digits : xyzw;
		const char *at = strchr(set, tolower((unsigned char)name[i]));
		uint32_t element = at ? at - set : UINT32_MAX;

		if (!at || element >= elements)
			return false;
		if (set == xyzw ? !i : i == 1)
			*first = element, *count = 0;
		if (element != *first + (*count)++)
			return false;
	}
	return n > (name[0] == 's' || name[0] == 'S');
}

bool clread_is_short_conditional(const char *text, const struct cl_range *range)
{
	for (size_t at = range->start; at < range->end; at++) {
		size_t next = at + 1;

		while (next < range->end && isspace((unsigned char)text[next]))
			next++;
		if (text[at] == '?' && next < range->end && text[next] == ':')
			return true;
	}
	return !range->exact;
}

/*
 * Skip designators and constant operands, which are not evaluated at run time. Each row describes the expressions whose
 * text starts with `begin`. If `last` is 0, the evaluated children begin at index `first`. If `last` is 1, only the
 * last child is evaluated. `most` is the maximum number of evaluated children.
 */
void clread_select_evaluated(const struct walk *w, const struct node *n, uint32_t *first, uint32_t *end)
{
	static const struct {
		const char *begin;
		uint32_t first, last, most;
	} rows[] = {
		{ "[", 0, 1, 1 },
		{ ".", 0, 1, 1 },
		{ "__builtin_offsetof", 0, 0, 0 },
		{ "__builtin_choose_expr", 1, 0, UINT32_MAX },
		{ "__builtin_shufflevector", 0, 0, 2 },
	};
	const char *text = w->r->source->text + n->range.start;

	for (size_t i = 0; n->range.end && i < sizeof(rows) / sizeof(*rows); i++) {
		if (strncmp(text, rows[i].begin, strlen(rows[i].begin)))
			continue;
		*first = rows[i].last && *end ? *end - 1 : rows[i].first;
		*end = *end - *first < rows[i].most ? *end : *first + rows[i].most;
	}
}
