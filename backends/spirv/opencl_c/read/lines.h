/* SPDX-License-Identifier: Apache-2.0 */
/* Source text after translation phases 2 and 3 (C11, 5.1.1.2): lines without splices and comments, and their tokens. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_LINES_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/pool.h"

struct cl_line {
	const char *text; /* without its newline; a comment is one blank */
	uint32_t number;  /* line number of its first character in the file */
};

struct cl_lines {
	struct cl_line *line;
	uint32_t n;
	bool trigraphs; /* the file contains trigraphs, which are not replaced */
};

/* Split a text. 0 or -ENOMEM. The pool owns the result. */
int clread_split_lines(const char *text, size_t size, struct gpubpf_pool *pool, struct cl_lines *lines);

/* Copy the directive's name ("" for the null directive) and return the text that follows it. NULL: the line is code. */
const char *clread_directive(const char *line, char name[16]);

/* Find the next identifier at or after `at`, outside of literals and numbers; *size is its length. NULL: there is
 * none. */
const char *clread_identifier(const char *at, size_t *size);

#endif
