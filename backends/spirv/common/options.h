/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL build options as applications write them: words between blanks, with '...', "..." and
 * backslashes as a shell has them (the specification says nothing; all compilers at hand agree).
 */
#ifndef GPUBPF_BACKENDS_SPIRV_COMMON_OPTIONS_H
#define GPUBPF_BACKENDS_SPIRV_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/pool.h"

struct gpubpf_cl_word {
	const char *text;    /* quotes and backslashes removed */
	size_t start, end;   /* where it stands in the options, quotes included */
};

struct gpubpf_cl_words {
	struct gpubpf_cl_word *word;
	uint32_t n;
};

/* 0 or -ENOMEM. */
int gpubpf_cl_split(const char *options, struct gpubpf_pool *pool, struct gpubpf_cl_words *words);

/* The options for a twin: folders of -I made absolute with cwd, and -Werror dropped (the application's
 * own build has already met it; a wrapper must not fail for a warning). NULL: no memory. */
const char *gpubpf_cl_twin_options(const char *options, const char *cwd, struct gpubpf_pool *pool);

/* Do the options let a compiler round as it likes, so that what stands beside an expression may change its value? */
bool gpubpf_cl_loose_math(const char *options);

/* Of the options those that change code and that a link may repeat: -cl-* without -cl-std and
 * -cl-kernel-arg-info; `spec`: only what the specification lists for clLinkProgram. NULL: no memory. */
const char *gpubpf_cl_link_options(const char *options, int spec, struct gpubpf_pool *pool);

#endif
