/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines how the device's own compiler preprocesses a source. A query is a source that contains the directives of
 * the original but not its code. The directives stand between the string literals that form the message of a failing
 * _Static_assert. The error message in the compiler's log then shows how each macro is defined, and which branches of
 * #if are taken. The compiler generates no code.
 *
 * clang 22 answers the same query. If the answers differ, clang adopts the macros of the device's compiler (dialect.h).
 * If the branches still differ, the reader refuses the source.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_QUERY_H

#include "read.h"

struct cl_name {
	const char *text;
	bool tested;       /* a branch of #if may depend on the name, directly or through another macro */
	bool with_counter; /* a branch may depend on both the name and __COUNTER__ */
	/* the name occurs in the source; false: it is only in the list that every query has (macros.def) */
	bool in_source;
};

/*
 * A branch of #if. An #include whose header is in no known folder has two branches: one for a compiler that finds the
 * header, one for a compiler that does not.
 */
struct cl_branch {
	uint32_t line;      /* line number in the file that contains the branch */
	const char *header; /* name of the missing header; NULL: a branch of #if */
	bool found;         /* missing header: the branch for a compiler that finds it */
};

struct cl_query {
	const char *text;             /* text of the main file */
	const char *options;          /* the build options of the source, without -I */
	struct gpubpf_header *header; /* all included files, under names without a folder */
	uint32_t nheaders;
	struct cl_name *name; /* the names whose definitions the query prints, sorted; the answer has the same order */
	uint32_t nnames;
	struct cl_branch *branch;
	uint32_t nbranches;
	bool lines, counts; /* a branch may depend on __LINE__ (lines), or on __COUNTER__ (counts) */
	const char *unsure; /* why no answer can show how the source is preprocessed; NULL: an answer shows it */
};

/*
 * Create the query of a source, for the device's compiler and for clang. The pool owns the query. Returns 0 or -ENOMEM.
 */
int gpubpf_cl_query(const struct gpubpf_cl_source *source, struct gpubpf_pool *pool, struct cl_query *query);

#endif
