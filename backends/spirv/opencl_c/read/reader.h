/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the reader, among them read.c (walk, places), param.c (types), body_repeats.c and call_graph.c
 * (calls). */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READER_H

#include <clang-c/Index.h>
#include <stdbool.h>

#include "read.h"

/* clang_getAddressSpace() returns enum LangAS of clang/Basic/AddressSpaces.h */
enum {
	CLANG_AS_DEFAULT,
	CLANG_AS_GLOBAL,
	CLANG_AS_LOCAL,
	CLANG_AS_CONSTANT,
	CLANG_AS_PRIVATE,
	CLANG_AS_GENERIC,
};

struct span {                    /* offsets in the main file */
	size_t start, end;
	CXSourceLocation where;
	CXCursor cursor;
	/* of a macro's use: end of the following text that the macro may take as arguments; `end` if it takes none */
	size_t reach;
	bool hides;              /* of a macro's use: it produces part of the text that a copy would replace */
	/* known: keeps and shape are set. keeps: the macro does not change its arguments */
	bool known, keeps;
	int shape;               /* form of the macro's replacement, backends/spirv/opencl_c/event/range.c */
};

/* a macro's definition */
struct cl_body {
	char **token;
	CXTokenKind *kind;
	/* first: the replacement's first token; parameters are the tokens from 2 to below `params` */
	unsigned n, first, params;
};

/* words whose value depends on their place in the text; a macro may lead to them */
enum {
	CLREAD_WORD_COUNTER, CLREAD_WORD_COLUMN, CLREAD_WORD_PLACE, CLREAD_WORD_PRETTY, CLREAD_WORD_FILE, CLREAD_WORD_BASE_FILE,
	CLREAD_WORD_FILE_NAME, CLREAD_WORD_BUILTIN_FILE,
};

struct telling {
	uint32_t macro;          /* index in unit->macro before the final sort */
	uint32_t words;
};

/* a string that the preprocessor creates */
struct made {
	uint32_t function;       /* index in reader.function; UINT32_MAX: outside of functions */
	const char *text;
};

/* the text of an expression */
struct cl_range {
	size_t start, end;       /* both 0: not in the main file */
	bool exact;              /* the text stands for the expression and for nothing else */
};

struct function {
	CXCursor cursor;         /* canonical */
	uint32_t flags;          /* enum gpubpf_kernel_flags */
	uint32_t *callee;        /* indices in reader.function */
	uint32_t ncallees;
	int32_t kernel;          /* index in the unit, or -1 */
	struct gpubpf_cl_function source; /* only if places are requested */
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
	bool reached;            /* clread_compute_reach() has run */
	CXCursor *definition;    /* parallel to unit->macro before the final sort */
	uint32_t ndefinitions;
	struct telling *telling;
	uint32_t nmacro_words;
	bool told;               /* `telling` is complete */
	struct made *made;
	uint32_t ngenerated;
	const char **header;     /* names of included files relative to their folders */
	uint32_t nheaders;
	struct function *function;
	uint32_t nfunctions;
	uint32_t *bucket;        /* hash table of functions: index + 1 */
	uint32_t nbuckets;
	uint32_t current;        /* the function that the walk is in */
	const char *newer;       /* an included file that changed after the build */
	bool globals;            /* a writable program-scope variable was seen */
};

const char *clread_included(struct reader *r); /* included.c: comment lines that follow the twin's text */
char *clread_text(struct reader *r, CXString s);

/* param.c: fill in k->info.params and k->type. Sets a reason if a wrapper cannot declare a parameter. */
void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k);

/* Fill in the function's parameters and result. The signature's reason says why they cannot be declared again. */
void clread_signature(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);

/* line_splices.c: in the text, replace by a blank each backslash that joins two lines between tokens. */
void clread_blank_splices(char *text);

/* body_repeats.c: why code has another meaning when the compiler reads it again, "code with ...", or NULL if it has
 * not. `moved`: the copy has other columns. *mask: the words in the code, 1 << CLREAD_WORD_. */
const char *clread_why_not_repeatable(struct reader *r, CXSourceRange code, bool moved, uint32_t *mask);

/* made_strings.c: note a string that the preprocessor creates, or all such strings of a variable. clread_check_generated_strings() finally
 * refuses kernels whose strings differ in a twin. */
extern const char *const clread_copy_macros[];
void clread_note_generated_string(struct reader *r, CXCursor literal, uint32_t function);
void clread_note_generated_strings(struct reader *r, CXCursor variable);
void clread_check_generated_strings(struct reader *r);

/* param.c: the value of __PRETTY_FUNCTION__ in a function, or NULL if a macro cannot have this value. */
const char *clread_pretty(struct reader *r, CXCursor function);

/* backends/spirv/opencl_c/event/range.c. `around`: the text of the enclosing expression, NULL in a statement. transparent: the enclosing expression
 * adds no operation, for example parentheses. */
struct cl_range clread_range(struct reader *r, CXSourceRange extent, const struct cl_range *around, bool transparent);
/* For a vector literal with one value, (float4)(x), clang's range ends after the value. Extend the range to the
 * parenthesis that is still open. False: that parenthesis is not closed. */
bool clread_extend_to_parenthesis(const struct reader *r, struct cl_range *range);

bool clread_body(struct reader *r, CXCursor definition, struct cl_body *body);
/* Compute how far uses of macros reach; call it when all uses are known. */
void clread_compute_reach(struct reader *r);

/* backends/spirv/opencl_c/event/expand.c: the source in which the uses of macros that hide an event are replaced, or NULL if there are none. */
const char *clread_expanded(struct reader *r);

/* type.c: a type's name as the source can write it at file scope, or "" if the type cannot be named there.
 * clread_pointer_name() returns the name of a pointer to the type, with the pointee's qualifiers. */
const char *clread_type_name(struct reader *r, CXType type);
const char *clread_pointer_name(struct reader *r, CXType type);
/* clread_array_pointer(): the pointer type of a parameter that is declared as an array; "" if its elements have no
 * name. */
bool clread_is_array(CXType canonical);
const char *clread_array_pointer(struct reader *r, CXType type);
/* clread_spaces(): the memory in which objects of a type lie (GPUBPF_IN), or 0 if the type does not tell.
 * clread_elements(): the number of a vector's elements, else 1. */
uint32_t clread_spaces(CXType type);
uint32_t clread_elements(CXType type);

/* backends/spirv/opencl_c/event/event.c: list the events in the function's body. */
void clread_events(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);
/* function.c: read the text and events of a definition whose index is known. */
void clread_read_definition(struct reader *r, CXCursor c, uint32_t index);
/* Find the body's text and where a copy of it may stand; `moved`: the copy starts in another column. Returns why the
 * body cannot be copied, NULL if it can. */
const char *clread_find_body(struct reader *r, CXCursor c, bool moved, struct gpubpf_cl_function *f);
/* read.c. clread_find_place(): the offset after a definition at which a wrapper or copy may stand. */
bool clread_find_place(struct reader *r, CXCursor c, size_t *at);
bool clread_in_expansion(const struct reader *r, size_t at);
void clread_line(struct reader *r, size_t at, uint32_t *line, uint32_t *column);
void *clread_grow(struct reader *r, void *array, uint32_t n, size_t size);
#define APPEND(r, list, count) \
	(((list) = clread_grow((r), (list), (count), sizeof(*(list)))) ? &(list)[(count)++] : NULL)

/* call_graph.c: barriers, local variables and program-scope variables, followed through calls. */
void clread_variable(struct reader *r, CXCursor c);
/* Index of a function, or UINT32_MAX if memory runs out. A new function is added. */
uint32_t clread_function_index(struct reader *r, CXCursor c);
/* Does the source declare the function? Clang creates OpenCL C's own functions when they are called. */
bool clread_is_declared(const struct reader *r, CXCursor c);
void clread_function(struct reader *r, CXCursor c);
/* Returns its function's index. */
uint32_t clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel);
void clread_propagate_flags(struct reader *r);
/* At the end of the walk, copy all functions to the unit. */
void clread_list_functions(struct reader *r);

#endif
