/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share: read.c (walk, places), param.c (types), body_repeats.c, call_graph.c (calls). */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READER_H

#include <clang-c/Index.h>
#include <stdbool.h>

#include "read.h"

/* clang_getAddressSpace() gives enum LangAS of clang/Basic/AddressSpaces.h */
enum {
	CLANG_AS_DEFAULT,
	CLANG_AS_GLOBAL,
	CLANG_AS_LOCAL,
	CLANG_AS_CONSTANT,
	CLANG_AS_PRIVATE,
	CLANG_AS_GENERIC,
};

struct span {                    /* in the main file */
	size_t start, end;
	CXSourceLocation where;
	CXCursor cursor;
	size_t reach;            /* of a macro's use: up to where it may take what stands behind it as arguments; `end`: it takes none */
	bool hides;              /* of a macro's use: it makes a part of what a copy would replace */
	bool known, keeps;       /* the rest is known; its arguments may be written differently */
	int shape;               /* what its text is, range.c */
};

/* a macro's definition */
struct cl_body {
	char **token;
	CXTokenKind *kind;
	unsigned n, first, params;   /* the text's first token; parameters are those from 2 below `params` */
};

/* a macro that leads to words whose value depends on their place */
enum {
	CLREAD_WORD_COUNTER, CLREAD_WORD_COLUMN, CLREAD_WORD_PLACE, CLREAD_WORD_PRETTY, CLREAD_WORD_FILE, CLREAD_WORD_BASE_FILE,
	CLREAD_WORD_FILE_NAME, CLREAD_WORD_BUILTIN_FILE,
};

struct telling {
	uint32_t macro;          /* of unit->macro, until that is sorted */
	uint32_t words;
};

/* a string that the preprocessor makes */
struct made {
	uint32_t function;       /* in reader.function; UINT32_MAX: of the program */
	const char *text;
};

/* the text of an expression */
struct cl_range {
	size_t start, end;       /* both 0: not in the main file */
	bool exact;              /* it stands for the expression, and for nothing else */
};

struct function {
	CXCursor cursor;         /* canonical */
	uint32_t flags;          /* enum gpubpf_kernel_flags */
	uint32_t *callee;        /* indices in reader.function */
	uint32_t ncallees;
	int32_t kernel;          /* index in the unit, or -1 */
	struct gpubpf_cl_function source; /* where places are asked for */
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
	bool reached;            /* clread_reaches() */
	CXCursor *definition;    /* of unit->macro, until that is sorted */
	uint32_t ndefinitions;
	struct telling *telling;
	uint32_t ntelling;
	bool told;               /* all of them are known */
	struct made *made;
	uint32_t nmade;
	const char **header;     /* files that were included, by a name without its folder's */
	uint32_t nheaders;
	struct function *function;
	uint32_t nfunctions;
	uint32_t *bucket;        /* hash of functions: index + 1 */
	uint32_t nbuckets;
	uint32_t current;        /* function being walked */
	const char *newer;       /* an included file that changed after the build */
	bool globals;            /* a writable program-scope variable was seen */
};

const char *clread_included(struct reader *r); /* included.c: lines for behind the twin's text */
char *clread_text(struct reader *r, CXString s);

/* param.c: fill k->info.params and k->type; a reason if the wrapper could not declare one. */
void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k);

/* Fill in what a function takes and returns; its signature's reason says why that cannot be said again. */
void clread_signature(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);

/* splice.c: in the text, turn backslashes that join lines between two tokens into blanks. */
void clread_part_splices(char *text);

/* body_repeats.c: the reason why code changes when the compiler reads it once more, "code with ..."; NULL: it does not.
 * `moved`: columns change too. *mask: the words in it, 1 << CLREAD_WORD_. */
const char *clread_why_not_again(struct reader *r, CXSourceRange code, bool moved, uint32_t *mask);

/* made.c: note a string that the preprocessor makes; of a variable, all; at the end, refuse kernels whose strings differ. */
extern const char *const clread_own_names[];
void clread_made(struct reader *r, CXCursor literal, uint32_t function);
void clread_made_of(struct reader *r, CXCursor variable);
void clread_judge_made(struct reader *r);

/* param.c: the value of __PRETTY_FUNCTION__ in a function; NULL: a macro cannot say it. */
const char *clread_pretty(struct reader *r, CXCursor function);

/* range.c. `around`: of what the expression stands in, NULL: a statement; transparent: that says nothing more than it, as
 * parentheses do. */
struct cl_range clread_range(struct reader *r, CXSourceRange extent, const struct cl_range *around, bool transparent);
/* A vector of one value, (float4)(x), ends for clang with the value: the parenthesis that is open there is its own. False: it is
 * not closed. */
bool clread_close(const struct reader *r, struct cl_range *range);

bool clread_body(struct reader *r, CXCursor definition, struct cl_body *body);
/* When all uses of macros are known: how far they reach. */
void clread_reaches(struct reader *r);

/* expand.c: the source without those uses of macros that hide an event; NULL: there are none. */
const char *clread_expanded(struct reader *r);

/* type.c: a type's name where the source has it at file scope, "": it has none there. With what qualifies what a pointer
 * points to, if `pointer`: of a pointer to it. */
const char *clread_type_name(struct reader *r, CXType type);
const char *clread_pointer_name(struct reader *r, CXType type);
/* clread_array_pointer(): the pointer type of a parameter that is written as an array; "": its elements have no name. */
bool clread_is_array(CXType canonical);
const char *clread_array_pointer(struct reader *r, CXType type);
/* Memory that a type lies in, GPUBPF_IN; 0: it does not say. Elements: of a vector, else 1. */
uint32_t clread_spaces(CXType type);
uint32_t clread_elements(CXType type);

/* event.c: of the function's body. */
void clread_events(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);
/* function.c: of a definition whose index is known, its text and events. */
void clread_source(struct reader *r, CXCursor c, uint32_t index);
/* Its body's text, and where a copy of it may stand, `moved` in its line too. Why there is none, NULL: there is. */
const char *clread_find_body(struct reader *r, CXCursor c, bool moved, struct gpubpf_cl_function *f);
/* read.c. clread_place(): the offset at which something may stand behind a definition. */
bool clread_place(struct reader *r, CXCursor c, size_t *at);
bool clread_in_expansion(const struct reader *r, size_t at);
void clread_line(struct reader *r, size_t at, uint32_t *line, uint32_t *column);
void *clread_grow(struct reader *r, void *array, uint32_t n, size_t size);
#define APPEND(r, list, count) \
	(((list) = clread_grow((r), (list), (count), sizeof(*(list)))) ? &(list)[(count)++] : NULL)

/* call_graph.c: barriers, local and program-scope variables, through calls. */
void clread_variable(struct reader *r, CXCursor c);
/* Index of a function, made on first sight; UINT32_MAX: no memory. */
uint32_t clread_function_of(struct reader *r, CXCursor c);
/* Does the source declare it? Clang makes OpenCL C's own functions where they are called. */
bool clread_is_declared(const struct reader *r, CXCursor c);
void clread_function(struct reader *r, CXCursor c);
/* Returns its function's index. */
uint32_t clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel);
void clread_spread(struct reader *r);
/* At the end: all functions, as the unit has them. */
void clread_list_functions(struct reader *r);

#endif
