/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share: read.c (walk, places), param.c (types), body.c, calls.c (calls). */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READER_H

#include <clang-c/Index.h>
#include <stdbool.h>

#include "read.h"

/* clang_getAddressSpace() gives enum LangAS of clang/Basic/AddressSpaces.h */
enum {
	CLANG_AS_GLOBAL = 1,
	CLANG_AS_LOCAL = 2,
};

struct span {                    /* in the main file */
	size_t start, end;
	CXSourceLocation where;
};

struct function {
	CXCursor cursor;         /* canonical */
	uint32_t flags;          /* enum gpubpf_kernel_flags */
	uint32_t *callee;        /* indices in reader.function */
	uint32_t ncallees;
	int32_t kernel;          /* index in the unit, or -1 */
};

struct reader {
	struct gpubpf_pool *pool;
	struct gpubpf_cl_unit *unit;
	const struct gpubpf_cl_source *source;
	CXTranslationUnit tu;
	CXFile main;
	bool failed;
	struct span *expansion, *include;
	uint32_t nexpansions, nincludes;
	struct function *function;
	uint32_t nfunctions;
	uint32_t *bucket;        /* hash of functions: index + 1 */
	uint32_t nbuckets;
	uint32_t current;        /* function being walked */
	const char *newer;       /* an included file that changed after the build */
	bool globals;            /* a writable program-scope variable was seen */
};

char *clread_text(struct reader *r, CXString s);

/* param.c: fill k->info.params and k->type; a reason if the wrapper could not declare one. */
void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k);

/* body.c: is the text the same when it is read once more? */
bool clread_repeats(struct reader *r, CXSourceRange body);

/* calls.c: barriers, local and program-scope variables, through calls. */
void clread_variable(struct reader *r, CXCursor c);
void clread_function(struct reader *r, CXCursor c);
void clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel);
void clread_spread(struct reader *r);

#endif
