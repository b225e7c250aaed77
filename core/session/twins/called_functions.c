/* SPDX-License-Identifier: Apache-2.0 */
#include "called_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/prog.h"
#include "core/wire/match.h"

#define LIST_MAX (64 * 1024)

bool *gpubpf_calls_find(const struct gpubpf_kernel_info *infos, uint32_t n, const struct gpubpf_kernel_info *kernel)
{
	bool *seen = calloc(n + 1, sizeof(*seen));
	uint32_t *stack = calloc(n + 1, sizeof(*stack)), depth = 0;
	const struct gpubpf_kernel_info *at = kernel;

	while (seen && stack && at) {
		for (uint32_t i = 0; i < at->ncallees; i++) {
			uint32_t to = at->callees[i];

			if (seen[to])
				continue;
			seen[to] = true;
			stack[depth++] = to;
		}
		at = depth ? &infos[stack[--depth]] : NULL;
	}
	if (!stack) {
		free(seen);
		seen = NULL;
	}
	free(stack);
	return seen;
}

/*
 * Does a topological sort: removes functions without callers until none is left or all have callers. Functions that
 * remain are recursive, or called from recursive functions.
 */
bool gpubpf_calls_is_recursive(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls)
{
	uint32_t *callers = calloc(n + 1, sizeof(*callers)), *stack = calloc(n + 1, sizeof(*stack)), depth = 0, left = 0;

	for (uint32_t i = 0; callers && stack && i < n; i++)
		for (uint32_t k = 0; calls[i] && k < infos[i].ncallees; k++)
			callers[infos[i].callees[k]]++;
	for (uint32_t i = 0; callers && stack && i < n; i++) {
		left += calls[i];
		if (calls[i] && !callers[i])
			stack[depth++] = i;
	}
	while (depth) {
		const struct gpubpf_kernel_info *at = &infos[stack[--depth]];

		left--;
		for (uint32_t k = 0; k < at->ncallees; k++)
			if (!--callers[at->callees[k]])
				stack[depth++] = at->callees[k];
	}
	left += !callers || !stack;
	free(callers);
	free(stack);
	return left;
}

bool gpubpf_prog_is_for_functions(const struct gpubpf_prog *prog)
{
	return gpubpf_place_kind(prog->site)->where == GPUBPF_WHERE_FUNCTION;
}

const struct gpubpf_prog *gpubpf_calls_first_program(const struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (gpubpf_prog_is_for_functions(&unit->progs[i]))
			return &unit->progs[i];
	return NULL;
}

bool gpubpf_calls_match(const struct gpubpf_unit *unit, const char *function)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (gpubpf_prog_is_for_functions(&unit->progs[i]) &&
		    gpubpf_pattern_matches(unit->progs[i].pattern, function))
			return true;
	return false;
}

char *gpubpf_calls_list(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls,
			const struct gpubpf_unit *unit)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	long room = LIST_MAX;

	if (!f)
		return NULL;
	for (int others = 0; others < 2; others++)
		for (uint32_t i = 0; i < n; i++)
			if (calls[i] && infos[i].name[0] && gpubpf_calls_match(unit, infos[i].name) != others && room > 0)
				room -= fprintf(f, "%s;", infos[i].name);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Append a name to `text` at offset *bytes, and return the name's address. If text is NULL, only add the name's size to
 * *bytes.
 */
static const char *append_name(char *text, size_t *bytes, const char *name)
{
	char *at = text ? strcpy(text + *bytes, name) : NULL;

	*bytes += strlen(name) + 1;
	return at;
}

/*
 * Returns a bit mask of the kinds of places with at least one place in the function that cannot be probed. Kinds of
 * named places are excluded, because a program may name only places that can be probed.
 */
static uint32_t find_unavailable_kinds(const struct gpubpf_kernel_info *info)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < info->nplaces; i++)
		if (info->places[i].operands & GPUBPF_GIVES_NOTHING && !gpubpf_place_has_name(info->places[i].kind))
			kinds |= 1u << info->places[i].kind;
	return kinds;
}

/*
 * Append the places of a kernel or function to list[], and their names to the text. If list is NULL, only count.
 * Returns the new number of places.
 */
static uint32_t add_places(const struct gpubpf_kernel_info *info, uint32_t kinds, const char *function,
			   struct gpubpf_place *list, uint32_t n, char *text, size_t *bytes)
{
	const char *in = append_name(text, bytes, function);

	for (uint32_t i = 0; i < info->nplaces && n < GPUBPF_MAX_PLACES; i++) {
		if (!(kinds >> info->places[i].kind & 1) || info->places[i].operands & GPUBPF_GIVES_NOTHING)
			continue;
		if (list) {
			list[n] = info->places[i];
			list[n].function = in;
			list[n].name = text + *bytes;
		}
		append_name(text, bytes, info->places[i].name);
		n++;
	}
	return n;
}

struct gpubpf_place *gpubpf_places_list(const struct gpubpf_kernel_info *infos, uint32_t n,
					const struct gpubpf_kernel_info *kernel, const bool *calls, uint32_t kinds,
					uint32_t *nplaces)
{
	struct gpubpf_place *list = NULL;
	uint32_t total = 0;
	char *text = NULL;
	size_t bytes = 0;

	kinds &= ~find_unavailable_kinds(kernel);
	for (uint32_t i = 0; i < n; i++)
		kinds &= calls[i] ? ~find_unavailable_kinds(&infos[i]) : UINT32_MAX;
	for (int fill = 0; fill < 2; fill++) {
		if (fill && !(list = malloc(total * sizeof(*list) + bytes)))
			return NULL;
		text = fill ? (char *)(list + total) : NULL;
		bytes = 0;
		total = add_places(kernel, kinds, "", list, 0, text, &bytes);
		for (uint32_t i = 0; i < n; i++)
			if (calls[i])
				total = add_places(&infos[i], kinds, infos[i].name, list, total, text, &bytes);
	}
	*nplaces = total;
	return list;
}

const char *gpubpf_calls_next(const char *list, char *buf, size_t size)
{
	size_t n = list ? strcspn(list, ";") : 0;

	if (!n)
		return NULL;
	snprintf(buf, size, "%.*s", (int)n, list);
	return list + n + 1;
}
