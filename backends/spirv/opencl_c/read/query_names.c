/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: lists the names whose definitions a query prints.
 * Before: the files of the source have been read, and their names are recorded in the order of the text.
 * After: the query has each name once, sorted. Names that may decide a branch are marked.
 * Requires: the names that -D defines have been recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "query_builder.h"

static const char *const positional_names[NPOSITIONAL] = { [LINE] = "__LINE__", [COUNTER] = "__COUNTER__" };

/* Names in every query. They identify the language and the features that clang can switch on and off. */
static const char *const common_names[] = {
#define CL_MACRO(name) #name,
#include "macros.def"
};

static void add_use(struct builder *b, const char *macro, size_t macro_size, const char *at, size_t size)
{
	b->use = clquery_grow(b, b->use, b->nuses, sizeof(*b->use));
	if (b->use)
		b->use[b->nuses++] = (struct use){ gpubpf_pool_strndup(b->pool, macro, macro_size),
						   gpubpf_pool_strndup(b->pool, at, size) };
}

void clquery_add_mentioned(struct builder *b, const char *line)
{
	size_t size;

	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		clquery_add_name(b, &b->mentioned, &b->nmentioned, at, size);
}

void clquery_add_with_counter(struct builder *b, const char *line)
{
	size_t size;

	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		clquery_add_name(b, &b->with_counter, &b->nwith_counter, at, size);
}

void clquery_add_tested(struct builder *b, const char *line)
{
	size_t size;

	clquery_add_mentioned(b, line);
	for (const char *at = line; (at = clread_identifier(at, &size)); at += size)
		clquery_add_name(b, &b->tested, &b->ntested, at, size);
}

void clquery_add_macro(struct builder *b, const char *text)
{
	size_t macro_size, size;
	const char *macro = clread_identifier(text, &macro_size);

	clquery_add_mentioned(b, text);
	for (const char *at = macro ? macro + macro_size : NULL; at && (at = clread_identifier(at, &size)); at += size)
		add_use(b, macro, macro_size, at, size);
}

/*
 * Should the query not print the name? True for names whose definition two compilers cannot print alike. __LINE__ and
 * __COUNTER__ are printed if conditions test them.
 */
static bool is_excluded(const struct builder *b, const char *name)
{
	static const char *const exact[] = { "defined",           "__FILE__",      "__LINE__",    "__DATE__",
					     "__TIME__",          "__TIMESTAMP__", "__COUNTER__", "__BASE_FILE__",
					     "__INCLUDE_LEVEL__", "__FILE_NAME__", "_Pragma",     "__pragma" };
	static const char *const begin[] = { "__has_", "__is_", "__VA_", "__building_module", "gpubpf_" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	for (enum positional m = 0; m < NPOSITIONAL; m++)
		if (b->npositional[m] && !strcmp(name, positional_names[m]))
			return false;
	return IS_ANY(name, exact);
}

static void add_query_name(struct builder *b, const char *text, bool in_source)
{
	struct cl_query *q = b->query;

	if (is_excluded(b, text) || clquery_has_text(b->defined, b->ndefined, text) || q->nnames == MAX_NAMES)
		return;
	if (q->nnames && !strcmp(q->name[q->nnames - 1].text, text)) {
		q->name[q->nnames - 1].in_source |= in_source;
		return;
	}
	q->name[q->nnames++] = (struct cl_name){ .text = text, .in_source = in_source };
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct cl_name *)a)->text, ((const struct cl_name *)b)->text);
}

static struct cl_name *find_name(const struct cl_query *q, const char *text)
{
	struct cl_name key = { text };

	return q->nnames ? bsearch(&key, q->name, q->nnames, sizeof(key), compare_names) : NULL;
}

/* Record in the query if a condition tests __LINE__ or __COUNTER__. */
static void check_tested(struct builder *b, const char *name)
{
	b->query->lines |= !strcmp(name, positional_names[LINE]);
	b->query->counts |= !strcmp(name, positional_names[COUNTER]);
}

static void check_used(struct builder *b, const char *name)
{
	static const char *const files[] = { "__has_include", "__has_include_next", "__has_embed" };

	check_tested(b, name);
	if (IS_ANY(name, files))
		b->query->unsure = "a macro definition tests whether files exist";
}

/*
 * If a condition tests a macro, mark each name in the macro's replacement as tested. Macros that -D defines are not in
 * the query's list; they are treated as tested.
 */
static void propagate_tests(struct builder *b)
{
	bool changed = true;

	for (uint32_t i = 0; i < b->ntested; i++) {
		struct cl_name *name = find_name(b->query, b->tested[i]);

		if (name)
			name->tested = true;
	}
	for (uint32_t i = 0; i < b->ntested; i++)
		check_tested(b, b->tested[i]);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < b->nuses; i++) {
			struct cl_name *macro = find_name(b->query, b->use[i].macro),
				       *name = find_name(b->query, b->use[i].name);

			if (macro && !macro->tested)
				continue;
			check_used(b, b->use[i].name);
			if (!name || name->tested)
				continue;
			name->tested = changed = true;
		}
	}
}

static void propagate_with_counter(struct builder *b)
{
	uint32_t before = 0;

	clquery_sort_texts(b->with_counter, b->nwith_counter);
	while (b->nwith_counter != before && !b->pool->failed) {
		before = b->nwith_counter;
		for (uint32_t i = 0; i < b->nuses; i++)
			if (clquery_has_text(b->with_counter, b->nwith_counter, b->use[i].macro) &&
			    !clquery_has_text(b->with_counter, b->nwith_counter, b->use[i].name)) {
				clquery_add_name(b, &b->with_counter, &b->nwith_counter, b->use[i].name,
						 strlen(b->use[i].name));
				clquery_sort_texts(b->with_counter, b->nwith_counter);
			}
	}
	for (uint32_t i = 0; i < b->query->nnames; i++)
		b->query->name[i].with_counter = clquery_has_text(b->with_counter, b->nwith_counter,
								  b->query->name[i].text);
}

int clquery_list_names(struct builder *b)
{
	size_t n = sizeof(common_names) / sizeof(*common_names), k = 0, m = 0;

	clquery_sort_texts(b->mentioned, b->nmentioned);
	clquery_sort_texts(b->defined, b->ndefined);
	b->query->name = gpubpf_pool_alloc(b->pool, b->nmentioned + n, sizeof(*b->query->name));
	if (!b->query->name)
		return -ENOMEM;
	while (k < n || m < b->nmentioned) /* merge two sorted lists */
		if (k == n || (m < b->nmentioned && strcmp(b->mentioned[m], common_names[k]) <= 0))
			add_query_name(b, b->mentioned[m++], true);
		else
			add_query_name(b, common_names[k++], false);
	propagate_tests(b);
	propagate_with_counter(b);
	return 0;
}

void clquery_list_positional(const struct builder *from, struct builder *to, enum positional positional)
{
	const char ***list = &to->positional[positional];
	uint32_t *n = &to->npositional[positional], before = 0;

	clquery_add_name(to, list, n, positional_names[positional], strlen(positional_names[positional]));
	while (*n != before && !to->pool->failed) {
		before = *n;
		for (uint32_t i = 0; i < from->nuses; i++)
			if (clquery_has_text(*list, *n, from->use[i].name) &&
			    !clquery_has_text(*list, *n, from->use[i].macro)) {
				clquery_add_name(to, list, n, from->use[i].macro, strlen(from->use[i].macro));
				clquery_sort_texts(*list, *n);
			}
	}
}
