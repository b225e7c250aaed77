/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that find the text of an expression, and the macro expansions that overlap this text. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_RANGE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_RANGE_H

#include "backends/spirv/opencl_c/clang/reader.h"

/*
 * Returns the text of an expression. `enclosing` is the text of the enclosing expression; NULL if the enclosing node is
 * a statement. `transparent` says that the enclosing expression adds no operation, for example parentheses.
 */
struct cl_range clread_range(struct reader *r, CXSourceRange extent, const struct cl_range *enclosing, bool transparent);
/*
 * Extend the range until it contains the closing parenthesis of each opening parenthesis in it. For example, libclang's
 * range of (float4)(x) ends after x, before the closing parenthesis. Returns false if a parenthesis stays unclosed.
 */
bool clread_extend_to_parenthesis(const struct reader *r, struct cl_range *range);

/* Read the tokens of a macro's definition. Returns false if memory runs out. */
bool clread_body(struct reader *r, CXCursor definition, struct cl_body *body);
/* Set span.arguments_end of all macro expansions. Call this function after all expansions have been recorded. */
void clread_find_arguments_end(struct reader *r);

/*
 * expand.c: returns the source in which macro expansions that hide an event are replaced. Returns NULL if there are
 * none.
 */
const char *clread_expanded(struct reader *r);

#endif
