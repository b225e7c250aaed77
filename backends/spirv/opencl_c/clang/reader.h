/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of reading an OpenCL C source with libclang, and the functions that all walks over the syntax tree share.
 * They read text, name types and maintain the table of functions.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_CLANG_READER_H
#define GPUBPF_BACKENDS_SPIRV_CLANG_READER_H

#include <clang-c/Index.h>
#include <stdbool.h>

#include "backends/spirv/opencl_c/unit.h"

/* The values of enum LangAS in clang/Basic/AddressSpaces.h that clang_getAddressSpace() returns. */
enum {
	CLANG_AS_DEFAULT,
	CLANG_AS_GLOBAL,
	CLANG_AS_LOCAL,
	CLANG_AS_CONSTANT,
	CLANG_AS_PRIVATE,
	CLANG_AS_GENERIC,
};

struct span { /* an expansion of a macro, or an #include directive */
	size_t start, end;
	CXSourceLocation where;
	CXCursor cursor;
	/*
	 * Macro: end offset of the text that the expansion may consume as arguments. This is `end`, or later if the
	 * expansion ends in the name of another function-like macro.
	 */
	size_t arguments_end;
	bool hides; /* macro: it produces part of an expression that a probed copy would replace */
	/*
	 * has_shape: passes_arguments and shape have been computed. passes_arguments: the macro inserts its arguments
	 * without changing them.
	 */
	bool has_shape, passes_arguments;
	int shape; /* how tightly the replacement binds: OPEN to ATOM in backends/spirv/opencl_c/event/range.c */
};

/* a macro's definition */
struct cl_body {
	char **token;
	CXTokenKind *kind;
	/*
	 * n: number of tokens in the definition. first: index of the first token of the replacement list. The parameter
	 * names are tokens with indices from 2 to `params` - 1; `params` is 0 for an object-like macro.
	 */
	unsigned n, first, params;
};

/* predefined names whose value depends on the position in the text, such as __COUNTER__ and __FILE__ */
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

/* a macro whose expansion contains position-dependent names (CLREAD_WORD_...) */
struct macro_words {
	uint32_t macro; /* index in unit->macro before that array is sorted */
	uint32_t words; /* bits 1 << CLREAD_WORD_ */
};

/* a string literal that the preprocessor creates, for example from __FILE__ or with # */
struct generated_string {
	uint32_t function; /* index in reader.function; UINT32_MAX: not in a function */
	const char *text;
};

/* the range of source text that an expression occupies */
struct cl_range {
	size_t start, end; /* offsets; both 0: the text is not in the main file */
	bool exact;        /* the text belongs to this expression only */
};

struct function {
	CXCursor cursor;  /* libclang's canonical cursor */
	uint32_t flags;   /* enum gpubpf_kernel_flags */
	uint32_t *callee; /* indices of the called functions in reader.function */
	uint32_t ncallees;
	int32_t kernel;                   /* index in unit->kernel, or -1: no kernel */
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
	CXCursor *definition;   /* [i]: definition of unit->macro[i], before that array is sorted */
	uint32_t ndefinitions;
	struct macro_words *macro_words;
	uint32_t nmacro_words;
	bool has_macro_words; /* macro_words is complete */
	struct generated_string *generated;
	uint32_t ngenerated;
	const char **header; /* paths of the included files that clang found through a relative path */
	uint32_t nheaders;
	struct function *function;
	uint32_t nfunctions;
	uint32_t *bucket; /* hash table of the functions; each bucket holds an index + 1, or 0 if it is free */
	uint32_t nbuckets;
	uint32_t current;  /* index of the function that the walk is visiting */
	const char *newer; /* name of an included file that changed after the application's build */
	bool has_globals;  /* the source has a writable program-scope variable */
};

/* reader.c */
char *clread_text(struct reader *r, CXString s);
void *clread_grow(struct reader *r, void *array, uint32_t n, size_t size);
#define APPEND(r, list, count) \
	(((list) = clread_grow((r), (list), (count), sizeof(*(list)))) ? &(list)[(count)++] : NULL)

/* functions.c */
/* Returns the index of a function, and adds a new function to the table. Returns UINT32_MAX if memory runs out. */
uint32_t clread_function_index(struct reader *r, CXCursor c);
/*
 * Does the source declare the function? Returns false for built-in functions of OpenCL C, which clang declares when
 * they are called.
 */
bool clread_is_declared(const struct reader *r, CXCursor c);

/*
 * type.c: returns a type's name as the source can write it at file scope, or "" if the type has no name there.
 * The function clread_pointer_name() returns the name of a pointer to the type, with the qualifiers of the type.
 */
const char *clread_type_name(struct reader *r, CXType type);
const char *clread_pointer_name(struct reader *r, CXType type);
/*
 * clread_array_pointer() returns the name of the pointer type to which an array parameter decays, or "" if the element
 * type has no name.
 */
bool clread_is_array(CXType canonical);
const char *clread_array_pointer(struct reader *r, CXType type);
/*
 * The function clread_spaces() returns the memory spaces in which an object of the type may lie (GPUBPF_IN). 0: the
 * type has no address space. The function clread_elements() returns the number of elements of a vector type, and 1 for
 * other types.
 */
uint32_t clread_spaces(CXType type);
uint32_t clread_elements(CXType type);

#endif
