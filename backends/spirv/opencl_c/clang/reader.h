/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of reading a source with libclang, and functions that the walks over its syntax tree share: text, types, and
 * the table of functions.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_CLANG_READER_H
#define GPUBPF_BACKENDS_SPIRV_CLANG_READER_H

#include <clang-c/Index.h>
#include <stdbool.h>

#include "backends/spirv/opencl_c/unit.h"

/* clang_getAddressSpace() returns enum LangAS of clang/Basic/AddressSpaces.h */
enum {
	CLANG_AS_DEFAULT,
	CLANG_AS_GLOBAL,
	CLANG_AS_LOCAL,
	CLANG_AS_CONSTANT,
	CLANG_AS_PRIVATE,
	CLANG_AS_GENERIC,
};

struct span { /* a use of a macro, or an #include: offsets in the main file */
	size_t start, end;
	CXSourceLocation where;
	CXCursor cursor;
	/* macro: end of the text that it may take as arguments, including text after `end`; `end` if it takes no
	 * more */
	size_t arguments_end;
	bool hides; /* macro: it produces part of the text that a copy would replace */
	/* has_shape: passes_arguments and shape are valid. passes_arguments: the macro passes its arguments on
	 * unchanged */
	bool has_shape, passes_arguments;
	int shape; /* form of the macro's replacement, backends/spirv/opencl_c/event/range.c */
};

/* a macro's definition */
struct cl_body {
	char **token;
	CXTokenKind *kind;
	/* n: number of tokens. first: index of the replacement's first token. The parameters are among the tokens from
	 * 2 to below `params`; 0: the macro takes none. */
	unsigned n, first, params;
};

/* predefined names whose value depends on where they stand in the text */
enum {
	CLREAD_WORD_COUNTER,
	CLREAD_WORD_COLUMN,
	CLREAD_WORD_PLACE,
	CLREAD_WORD_PRETTY,
	CLREAD_WORD_FILE,
	CLREAD_WORD_BASE_FILE,
	CLREAD_WORD_FILE_NAME,
	CLREAD_WORD_BUILTIN_FILE,
};

/* a macro whose expansion contains such names */
struct macro_words {
	uint32_t macro; /* index in unit->macro before the final sort */
	uint32_t words; /* bits 1 << CLREAD_WORD_ */
};

/* a string that the preprocessor creates */
struct generated_string {
	uint32_t function; /* index in reader.function; UINT32_MAX: outside of functions */
	const char *text;
};

/* the text of an expression */
struct cl_range {
	size_t start, end; /* both 0: not in the main file */
	bool exact;        /* the text stands for the expression and for nothing else */
};

struct function {
	CXCursor cursor;  /* libclang's canonical cursor */
	uint32_t flags;   /* enum gpubpf_kernel_flags */
	uint32_t *callee; /* indices in reader.function */
	uint32_t ncallees;
	int32_t kernel;                   /* index in the unit, or -1 */
	struct gpubpf_cl_function source; /* the function's text and events; set only if places are requested */
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
	bool has_arguments_end; /* clread_find_arguments_end() has run */
	CXCursor *definition;   /* parallel to unit->macro before the final sort */
	uint32_t ndefinitions;
	struct macro_words *macro_words;
	uint32_t nmacro_words;
	bool has_macro_words; /* macro_words is complete */
	struct generated_string *generated;
	uint32_t ngenerated;
	const char **header; /* names of included files relative to their folders */
	uint32_t nheaders;
	struct function *function;
	uint32_t nfunctions;
	uint32_t *bucket; /* hash table of functions: index + 1 */
	uint32_t nbuckets;
	uint32_t current;  /* the function that the walk is in */
	const char *newer; /* an included file that changed after the build */
	bool has_globals;  /* the source has a writable program-scope variable */
};

/* reader.c */
char *clread_text(struct reader *r, CXString s);
void *clread_grow(struct reader *r, void *array, uint32_t n, size_t size);
#define APPEND(r, list, count) \
	(((list) = clread_grow((r), (list), (count), sizeof(*(list)))) ? &(list)[(count)++] : NULL)

/* functions.c */
/* Returns the index of a function, which it adds to the table if it is new. UINT32_MAX: no memory. */
uint32_t clread_function_index(struct reader *r, CXCursor c);
/* Does the source declare the function? Clang creates OpenCL C's own functions when they are called. */
bool clread_is_declared(const struct reader *r, CXCursor c);

/* type.c: returns a type's name as the source can write it at file scope; "" if the type cannot be named there.
 * clread_pointer_name() returns the name of a pointer to the type, with the pointee's qualifiers. */
const char *clread_type_name(struct reader *r, CXType type);
const char *clread_pointer_name(struct reader *r, CXType type);
/* clread_array_pointer(): the pointer type of a parameter that is declared as an array; "" if its elements have no
 * name. */
bool clread_is_array(CXType canonical);
const char *clread_array_pointer(struct reader *r, CXType type);
/* clread_spaces() returns the memory in which objects of a type lie (GPUBPF_IN), or 0 if the type has no address space.
 * clread_elements() returns the number of a vector's elements, else 1. */
uint32_t clread_spaces(CXType type);
uint32_t clread_elements(CXType type);

#endif
