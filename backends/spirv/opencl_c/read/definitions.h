/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that read the definitions of an OpenCL C source: kernels, functions and variables. The files of this folder
 * share this header.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_DEFINITIONS_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_DEFINITIONS_H

#include "backends/spirv/opencl_c/clang/reader.h"

/* included.c: returns the comment lines that list the included files at the end of the twin's source */
const char *clread_included(struct reader *r);

/*
 * param.c: fill in k->info.params, k->type and k->unqualified. If a wrapper cannot declare a parameter, sets
 * k->info.reason.
 */
void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k);

/*
 * Fill in f->signature, f->result and f->result_type. If a wrapper cannot declare the function's parameters or result,
 * sets the signature's info.reason.
 */
void clread_signature(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);

/* line_splices.c: replace each backslash that joins two lines between tokens by a blank. Modifies the text in place. */
void clread_blank_splices(char *text);

/*
 * body_repeats.c: returns why a copy of the code would have another meaning, as a phrase "code with ...". Returns NULL
 * if the meaning is the same. `moved` says that the copy is in other columns. Adds to *mask the position-dependent
 * names in the code (1 << CLREAD_WORD_...).
 */
const char *clread_why_not_repeatable(struct reader *r, CXSourceRange code, bool moved, uint32_t *mask);

/*
 * made_strings.c: record a string literal that the preprocessor creates, or all such literals in a variable's
 * initialiser. After the walk, clread_check_generated_strings() refuses kernels whose strings would differ in a twin.
 */
extern const char *const clread_copy_macros[];
void clread_note_generated_string(struct reader *r, CXCursor literal, uint32_t function);
void clread_note_generated_strings(struct reader *r, CXCursor variable);
void clread_check_generated_strings(struct reader *r);

/*
 * param.c: returns the value of __PRETTY_FUNCTION__ in a function. Returns NULL if a macro cannot expand to this value.
 */
const char *clread_pretty(struct reader *r, CXCursor function);

/* function.c: read the text and the events of a function's definition. `index` is its index in reader.function. */
void clread_read_definition(struct reader *r, CXCursor c, uint32_t index);
/*
 * Find the text of a function's body, and the offset where a copy of the body can be inserted. `moved` says that the
 * copy starts in another column. Returns why the body cannot be copied, or NULL if it can.
 */
const char *clread_find_body(struct reader *r, CXCursor c, bool moved, struct gpubpf_cl_function *f);
/* kernel.c: add the kernel to the unit, unless the unit already contains it. */
void clread_add_kernel(struct reader *r, CXCursor c);
/*
 * Functions of read.c:
 * - clread_offset_in_main() returns the offset of a location in its file. *in_main says whether that file is the main
 * file.
 * - clread_find_place() finds the offset after a definition at which a wrapper or copy can be inserted.
 * - clread_in_expansion() returns true if a macro expansion covers the offset.
 * - clread_line() stores the line number of an offset, considering #line, and the column.
 */
size_t clread_offset_in_main(struct reader *r, CXSourceLocation where, bool *in_main);
bool clread_find_place(struct reader *r, CXCursor c, size_t *at);
bool clread_in_expansion(const struct reader *r, size_t at);
void clread_line(struct reader *r, size_t at, uint32_t *line, uint32_t *column);

/*
 * call_graph.c: finds barriers, local variables and program-scope variables that a kernel uses directly or through
 * calls.
 */
void clread_variable(struct reader *r, CXCursor c);
void clread_function(struct reader *r, CXCursor c);
/* Record that the function is the unit's kernel number `kernel`. Returns the function's index. */
uint32_t clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel);
void clread_propagate_flags(struct reader *r);
/* After the walk, copy all functions to the unit. */
void clread_list_functions(struct reader *r);

#endif
