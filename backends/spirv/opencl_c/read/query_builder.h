/* SPDX-License-Identifier: Apache-2.0 */
/* The state of building a query. Shared by query.c, query_files.c, query_lists.c and query_names.c. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_BUILDER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "query.h"

enum { MAX_FILES = 512, MAX_FILE_BYTES = 8 << 20, MAX_NAMES = 50000, MAX_DEPTH = 1000 };

/* predefined macros whose value depends on the preceding text */
enum positional { LINE, COUNTER, NPOSITIONAL };

/* a file of the source: index 0 is the main one */
struct file {
	const char *path;   /* path on disk; for a header of clCompileProgram, the header's name */
	const char *folder; /* where quoted includes are searched first: "" or a path that ends with '/' */
	bool embedded;
	const char *text;
	size_t size;
};

/* a macro and an identifier in its replacement */
struct use {
	const char *macro, *name;
};

struct builder {
	const struct gpubpf_cl_source *source;
	struct gpubpf_pool *pool;
	struct cl_query *query;
	const char **folder; /* folders of -I */
	uint32_t nfolders;
	struct file file[MAX_FILES];
	uint32_t nfiles;
	const char **tested, **mentioned, **defined; /* names, with repetitions; `defined`: names that -D defines */
	uint32_t ntested, nmentioned, ndefined;
	/* names in conditions that depend on __COUNTER__, and names in the replacements of these; sorted at the end */
	const char **with_counter;
	uint32_t nwith_counter;
	struct use *use;
	uint32_t nuses;
	/* sorted: the predefined macro itself, and all macros that mention it, directly or indirectly */
	const char **positional[NPOSITIONAL];
	uint32_t npositional[NPOSITIONAL];
	/* nesting depth of conditions in the file; depth of the condition that tests __COUNTER__, 0: none */
	uint32_t depth, counter_depth;
	uint32_t extra_endifs[MAX_DEPTH + 1]; /* by depth: number of #if that replace an #elif and need an #endif */
	FILE *out;
};

/* -- lists in the pool: query_lists.c -- */

/* Make room for one more element. The pool keeps the old array. NULL: no memory. */
void *clquery_grow(struct builder *b, void *array, uint32_t n, size_t size);
void clquery_add_name(struct builder *b, const char ***list, uint32_t *n, const char *at, size_t size);
void clquery_sort_texts(const char **list, uint32_t n);
bool clquery_has_text(const char *const *sorted, uint32_t n, const char *text);
bool clquery_is_any(const char *name, const char *const *list, size_t n);
#define IS_ANY(name, list) clquery_is_any(name, list, sizeof(list) / sizeof(*(list)))

/* -- names: query_names.c -- */

/* Record the names that a line mentions; names in a condition that depends on __COUNTER__; and names that it tests. */
void clquery_add_mentioned(struct builder *b, const char *line);
void clquery_add_with_counter(struct builder *b, const char *line);
void clquery_add_tested(struct builder *b, const char *line);
/* Record a macro's name and the names that its replacement mentions. */
void clquery_add_macro(struct builder *b, const char *text);
/* List the names of the query, and find the tested ones. 0 or -ENOMEM. */
int clquery_list_names(struct builder *b);
/* List the macros of a written query that mention the name, directly or indirectly. */
void clquery_list_positional(const struct builder *from, struct builder *to, enum positional positional);

/* -- files: query_files.c -- */

/* Returns the path of a file in a folder, in the pool. NULL: no memory. */
const char *clquery_join(struct builder *b, const char *folder, const char *name);
/* Find an included file, in the order of clang's command line (args.c). Returns its index in b->file; 0: there is no
 * such file. */
uint32_t clquery_find_included(struct builder *b, const struct file *from, const char *name, bool quoted);

#endif
