/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out how the device's own compiler preprocesses a source. The query contains the source's directives without its
 * code, in the message of a _Static_assert that fails. The compiler's log then shows how each macro is defined and
 * which branches of #if are taken. The compiler generates no code, and nothing runs. clang 22 answers the same query.
 * If the answers differ, clang adopts the device's macros (dialect.h). If the branches still differ, the reader refuses
 * the source.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_H

#include "read.h"

struct cl_name {
	const char *text;
	bool tested;       /* the name may decide a branch of #if, directly or through another macro */
	bool with_counter; /* the name may decide a branch together with __COUNTER__ */
	bool in_source;    /* the name occurs in the source; else it is in the list that every query has */
};

/* A branch of #if. Also an #include whose header is in no known folder: one branch if the compiler finds it, another if
 * not. */
struct cl_branch {
	uint32_t line;      /* line number in the file that contains it */
	const char *header; /* NULL: a branch of #if */
	bool found;         /* of a header's branch: the compiler finds the header */
};

struct cl_query {
	const char *text;             /* the main file, for both compilers */
	const char *options;          /* the source's, without folders */
	struct gpubpf_header *header; /* all other files, under flat names */
	uint32_t nheaders;
	struct cl_name *name; /* sorted; the answer has them in this order */
	uint32_t nnames;
	struct cl_branch *branch;
	uint32_t nbranches;
	bool lines, counts; /* a branch may depend on __LINE__, on __COUNTER__ */
	const char *unsure; /* why no answer determines how the source is read; NULL: an answer does */
};

/* Create the query of a source, for both compilers. The pool owns it. 0 or -ENOMEM. */
int gpubpf_cl_query(const struct gpubpf_cl_source *source, struct gpubpf_pool *pool, struct cl_query *query);

#endif
