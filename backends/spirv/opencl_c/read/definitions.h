/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the definitions of a source: kernels, functions and variables. Shared by the files of this folder. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_DEFINITIONS_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_DEFINITIONS_H

#include "backends/spirv/opencl_c/clang/reader.h"

const char *clread_included(struct reader *r); /* included.c: comment lines that follow the twin's text */

/* param.c: fill in k->info.params and k->type. Sets a reason if a wrapper cannot declare a parameter. */
void clread_params(struct reader *r, CXCursor function, struct gpubpf_cl_kernel *k);

/* Fill in the function's parameters and result. The signature's reason says why they cannot be declared again. */
void clread_signature(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);

/* line_splices.c: in the text, replace by a blank each backslash that joins two lines between tokens. */
void clread_blank_splices(char *text);

/* body_repeats.c: returns why code has another meaning when the compiler reads it again, as "code with ...". NULL: it
 * has the same meaning. `moved`: the copy has other columns. *mask: the words in the code, 1 << CLREAD_WORD_. */
const char *clread_why_not_repeatable(struct reader *r, CXSourceRange code, bool moved, uint32_t *mask);

/* made_strings.c: record a string that the preprocessor creates, or all of them in a variable's initialiser. At the
 * end, clread_check_generated_strings() refuses kernels whose strings differ in a twin. */
extern const char *const clread_copy_macros[];
void clread_note_generated_string(struct reader *r, CXCursor literal, uint32_t function);
void clread_note_generated_strings(struct reader *r, CXCursor variable);
void clread_check_generated_strings(struct reader *r);

/* param.c: the value of __PRETTY_FUNCTION__ in a function, or NULL if a macro cannot have this value. */
const char *clread_pretty(struct reader *r, CXCursor function);

/* function.c: read the text and events of a definition whose index is known. */
void clread_read_definition(struct reader *r, CXCursor c, uint32_t index);
/* Find the body's text and where a copy of it may stand; `moved`: the copy starts in another column. Returns why the
 * body cannot be copied, NULL if it can. */
const char *clread_find_body(struct reader *r, CXCursor c, bool moved, struct gpubpf_cl_function *f);
/* kernel.c: add the kernel to the unit, unless the unit has it. */
void clread_add_kernel(struct reader *r, CXCursor c);
/* read.c. clread_offset_in_main() returns the offset in a file; *in_main: the file is the main one. clread_find_place()
 * finds the offset after a definition at which a wrapper or copy may stand. clread_in_expansion() tests whether a use
 * of a macro covers the offset. clread_line() stores the offset's line number, by #line, and column. */
size_t clread_offset_in_main(struct reader *r, CXSourceLocation where, bool *in_main);
bool clread_find_place(struct reader *r, CXCursor c, size_t *at);
bool clread_in_expansion(const struct reader *r, size_t at);
void clread_line(struct reader *r, size_t at, uint32_t *line, uint32_t *column);

/* call_graph.c: barriers, local variables and program-scope variables, followed through calls. */
void clread_variable(struct reader *r, CXCursor c);
void clread_function(struct reader *r, CXCursor c);
/* Returns the index of the kernel's function. */
uint32_t clread_note_kernel(struct reader *r, CXCursor c, uint32_t kernel);
void clread_propagate_flags(struct reader *r);
/* At the end of the walk, copy all functions to the unit. */
void clread_list_functions(struct reader *r);

#endif
