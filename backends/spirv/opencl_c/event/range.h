/* SPDX-License-Identifier: Apache-2.0 */
/* The text of expressions, and the macros in it. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_RANGE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_RANGE_H

#include "backends/spirv/opencl_c/clang/reader.h"

/* Returns the text of an expression. `enclosing` is the text of the enclosing expression, NULL in a statement. An
 * enclosing expression that adds no operation, for example parentheses, is `transparent`. */
struct cl_range clread_range(struct reader *r, CXSourceRange extent, const struct cl_range *enclosing, bool transparent);
/* For a vector literal with one value, (float4)(x), clang's range ends after the value. Extend the range to the
 * parenthesis that is still open. False: that parenthesis is not closed. */
bool clread_extend_to_parenthesis(const struct reader *r, struct cl_range *range);

/* Read the tokens of a macro's definition. False: no memory. */
bool clread_body(struct reader *r, CXCursor definition, struct cl_body *body);
/* Set span.arguments_end of all uses of macros; call it when all uses are known. */
void clread_find_arguments_end(struct reader *r);

/* expand.c: the source in which the uses of macros that hide an event are replaced, or NULL if there are none. */
const char *clread_expanded(struct reader *r);

#endif
