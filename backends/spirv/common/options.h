/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses OpenCL build options as applications write them: words separated by blanks, with '...', "..." and backslashes
 * as in a shell. The OpenCL specification does not define this syntax; all compilers that we tested agree.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_COMMON_OPTIONS_H
#define GPUBPF_BACKENDS_SPIRV_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/pool.h"

struct gpubpf_cl_word {
	const char *text;  /* quotes and backslashes removed */
	size_t start, end; /* byte range of the word in the options, quotes included */
};

struct gpubpf_cl_words {
	struct gpubpf_cl_word *word;
	uint32_t n;
};

/* Split the options into words. Returns 0 or -ENOMEM. */
int gpubpf_cl_split(const char *options, struct gpubpf_pool *pool, struct gpubpf_cl_words *words);

/*
 * Returns the options for compiling a twin, or NULL if memory runs out. Relative folders of -I become absolute paths
 * below cwd. The option -Werror is dropped: the application's own build has passed it, and a wrapper must not fail
 * because of a warning.
 */
const char *gpubpf_cl_twin_options(const char *options, const char *cwd, struct gpubpf_pool *pool);

/*
 * Returns true if the options let a compiler round freely. Inserted code next to an expression may then change the
 * expression's value.
 */
bool gpubpf_cl_has_loose_math(const char *options);

/*
 * Returns the options that change code and are valid at a link: -cl-* except -cl-std and -cl-kernel-arg-info. If `spec`
 * is true, returns only the options that the specification lists for clLinkProgram. NULL: memory runs out.
 */
const char *gpubpf_cl_link_options(const char *options, int spec, struct gpubpf_pool *pool);

#endif
