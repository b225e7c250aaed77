/* SPDX-License-Identifier: Apache-2.0 */
/* The state of building a query, which query.c, query_files.c, query_lists.c and query_names.c share. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_BUILDER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "query.h"

enum { MAX_FILES = 512, MAX_FILE_BYTES = 8 << 20, MAX_NAMES = 50000, MAX_DEPTH = 1000 };

/* predefined macros whose value depends on the position in the text */
enum positional { LINE, COUNTER, NPOSITIONAL };

/* a file of the source; the main file has index 0 */
struct file {
	const char *path;   /* path on disk, or the name of a header of clCompileProgram */
	const char *folder; /* folder that is searched first for quoted includes: "" or a path that ends with '/' */
	bool embedded;
	const char *text;
	size_t size;
};

/* a macro, and one identifier in the macro's replacement */
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
	/*
	 * Lists of names, with repetitions: names in conditions (tested), names in all directives (mentioned), and
	 * names that -D defines (defined). The list `mentioned` also has names in code that look like predefined
	 * macros.
	 */
	const char **tested, **mentioned, **defined;
	uint32_t ntested, nmentioned, ndefined;
	/*
	 * Names in conditions that depend on __COUNTER__. If such a name is a macro, the list also has the names in its
	 * replacement. Sorted at the end.
	 */
	const char **with_counter;
	uint32_t nwith_counter;
	struct use *use;
	uint32_t nuses;
	/*
	 * by predefined macro: that macro's name, and all macros whose replacement contains it directly or indirectly;
	 * sorted
	 */
	const char **positional[NPOSITIONAL];
	uint32_t npositional[NPOSITIONAL];
	/* nesting depth of #if in the file; depth of the condition that tests __COUNTER__, or 0 */
	uint32_t depth, counter_depth;
	/* [depth]: number of #if that replaced an #elif and need an extra #endif */
	uint32_t extra_endifs[MAX_DEPTH + 1];
	FILE *out;
};

/* -- lists in the pool: query_lists.c -- */

/*
 * Make room for one more element in an array of n elements. Returns the array, which may have moved, or NULL if memory
 * runs out. The old array stays allocated in the pool.
 */
void *clquery_grow(struct builder *b, void *array, uint32_t n, size_t size);
void clquery_add_name(struct builder *b, const char ***list, uint32_t *n, const char *at, size_t size);
void clquery_sort_texts(const char **list, uint32_t n);
bool clquery_has_text(const char *const *sorted, uint32_t n, const char *text);
bool clquery_is_any(const char *name, const char *const *list, size_t n);
#define IS_ANY(name, list) clquery_is_any(name, list, sizeof(list) / sizeof(*(list)))

/* -- names: query_names.c -- */

/*
 * Each function adds all names in a line to the list after which it is named (`mentioned`, `with_counter` or `tested`).
 * clquery_add_tested() also adds them to `mentioned`.
 */
void clquery_add_mentioned(struct builder *b, const char *line);
void clquery_add_with_counter(struct builder *b, const char *line);
void clquery_add_tested(struct builder *b, const char *line);
/* Record the name of a macro and the names in its replacement. `text` begins with the macro's name. */
void clquery_add_macro(struct builder *b, const char *text);
/* Fill in the list of the query's names, and mark the names that conditions test. Returns 0 or -ENOMEM. */
int clquery_list_names(struct builder *b);
/*
 * Store in to->positional the macros of a finished query whose replacement contains __LINE__ or __COUNTER__, directly
 * or indirectly.
 */
void clquery_list_positional(const struct builder *from, struct builder *to, enum positional positional);

/* -- files: query_files.c -- */

/* Returns the path of a file in a folder, allocated in the pool. Returns NULL if memory runs out. */
const char *clquery_join(struct builder *b, const char *folder, const char *name);
/*
 * Find an included file in the order in which clang searches folders (args.c). Returns the file's index in b->file, or
 * 0 if there is no such file.
 */
uint32_t clquery_find_included(struct builder *b, const struct file *from, const char *name, bool quoted);

#endif
