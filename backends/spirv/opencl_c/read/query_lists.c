/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for growing lists of names that are allocated in the query's pool. */
#include <stdlib.h>
#include <string.h>

#include "query_builder.h"

void *clquery_grow(struct builder *b, void *array, uint32_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1) || (n && n < 16))
		return array;
	bigger = gpubpf_pool_alloc(b->pool, n ? 2 * n : 16, size);
	if (bigger && n)
		memcpy(bigger, array, n * size);
	return bigger;
}

void clquery_add_name(struct builder *b, const char ***list, uint32_t *n, const char *at, size_t size)
{
	*list = clquery_grow(b, *list, *n, sizeof(**list));
	if (*list)
		(*list)[(*n)++] = gpubpf_pool_strndup(b->pool, at, size);
}

bool clquery_is_any(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool clquery_has_text(const char *const *sorted, uint32_t n, const char *text)
{
	return sorted && n && bsearch(&text, sorted, n, sizeof(*sorted), compare_texts);
}

void clquery_sort_texts(const char **list, uint32_t n)
{
	if (n)
		qsort(list, n, sizeof(*list), compare_texts);
}
