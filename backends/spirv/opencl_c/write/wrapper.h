/* SPDX-License-Identifier: Apache-2.0 */
/* One wrapper or copy in the text of a twin. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WRAPPER_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WRAPPER_H

#include <stdio.h>

#include "backends/spirv/common/env_use.h"
#include "backends/spirv/opencl_c/read/names.h"
#include "write.h"

/* a wrapper being written */
struct wrapper {
	FILE *out;
	const struct gpubpf_lower_job *job;
	const struct gpubpf_wrap *wrap;
	const struct gpubpf_site_desc *site; /* a site on the kernel (gpubpf_env_site()) */
	bool is_body_repeated;               /* the wrapper repeats the kernel's body instead of calling the kernel */
	struct gpubpf_env_use use;
	struct gpubpf_weave weave; /* the text with places, of the kernel or of a called function */
	uint32_t callee;           /* the function whose declaration is written */
	struct cl_names names;     /* names of the function whose body the text repeats */
};

/* Does the wrapper repeat the kernel's body instead of calling the kernel? */
static inline bool repeats_body(const struct gpubpf_wrap *wrap)
{
	return wrap->kernel->info.flags & GPUBPF_KINFO_LOCAL || wrap->places;
}

/* Returns the output of write(), in the pool; NULL: no memory. */
char *gpubpf_wrap_print(struct wrapper *w, void (*write)(struct wrapper *w), struct gpubpf_pool *pool);
/* Write our own text with the application's macros of the same names disabled. */
int gpubpf_wrap_words(FILE *out, const char *text, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);
/* Write a #line for the text that follows, and the blanks before its column. `file`: NULL keeps the current file name. */
void gpubpf_wrap_line(FILE *out, uint32_t line, uint32_t column, const char *file);
/* Number the lines that follow for this wrapper, so that the compiler's log names it. */
void gpubpf_wrap_number_lines(FILE *out, const struct gpubpf_wrap *wrap);
/* Write the copy of a function with places, and the wrapper of one with programs at its calls. */
int gpubpf_wrap_function(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);
/* Write the wrapper of a kernel. 0 or -ENOMEM. */
int gpubpf_wrap_kernel(FILE *out, struct wrapper *w, const struct gpubpf_cl_source *source,
		       const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);

#endif
