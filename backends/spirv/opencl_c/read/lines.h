/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits source text into lines as translation phases 2 and 3 do (C11, 5.1.1.2): without line splices and comments.
 * Also finds directives and identifiers in these lines.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_LINES_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/pool.h"

struct cl_line {
	const char *text; /* the line without its newline; each comment is replaced by a blank */
	uint32_t number;  /* line number in the file of the line's first character */
};

struct cl_lines {
	struct cl_line *line;
	uint32_t n;
	bool trigraphs; /* the file contains trigraphs, which are not replaced */
};

/* Split a text of `size` bytes into lines. The pool owns the result. Returns 0 or -ENOMEM. */
int clread_split_lines(const char *text, size_t size, struct gpubpf_pool *pool, struct cl_lines *lines);

/*
 * If the line is a preprocessor directive, copy its name ("" for the null directive) and return the text after the
 * name. Returns NULL for other lines.
 */
const char *clread_directive(const char *line, char name[16]);

/*
 * Returns the next identifier at or after `at` that is not in a literal or number, and stores its length in *size.
 * Returns NULL if there is none.
 */
const char *clread_identifier(const char *at, size_t *size);

#endif
