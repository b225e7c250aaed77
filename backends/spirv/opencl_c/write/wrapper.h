/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that write one wrapper of a kernel, or one copy or wrapper of a called function, into the source of a twin.
 */
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
	/* a site in the kernel, which describes its parameters (gpubpf_env_site()) */
	const struct gpubpf_site_desc *site;
	bool is_body_repeated; /* the wrapper repeats the kernel's body instead of calling the kernel */
	struct gpubpf_env_use use;
	/* state for writing the text of the kernel, or of a called function, with its places probed */
	struct gpubpf_weave weave;
	uint32_t callee;       /* index of the function whose wrapper's declaration is being written */
	struct cl_names names; /* predefined names in the function whose body is repeated */
};

/* Does the wrapper repeat the kernel's body instead of calling the kernel? */
static inline bool repeats_body(const struct gpubpf_wrap *wrap)
{
	return wrap->kernel->info.flags & GPUBPF_KINFO_LOCAL || wrap->places;
}

/* Returns the text that write() writes to w->out, allocated in the pool. Returns NULL if memory runs out. */
char *gpubpf_wrap_print(struct wrapper *w, void (*write)(struct wrapper *w), struct gpubpf_pool *pool);
/*
 * Write generated text. While the compiler reads it, the application's macros whose names occur in the text are
 * undefined. Returns 0 or -ENOMEM.
 */
int gpubpf_wrap_words(FILE *out, const char *text, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);
/*
 * Write a #line directive for the text that follows, and the blanks before its column. file: the file name to set; NULL
 * keeps the current name.
 */
void gpubpf_wrap_line(FILE *out, uint32_t line, uint32_t column, const char *file);
/*
 * Write a #line directive with a line number that is reserved for this wrapper, so that the compiler's log shows which
 * wrapper is wrong.
 */
void gpubpf_wrap_number_lines(FILE *out, const struct gpubpf_wrap *wrap);
/*
 * Write the copy of a function if it contains probed places, and its wrapper if it has sites at its calls. Returns 0 or
 * -ENOMEM.
 */
int gpubpf_wrap_function(FILE *out, struct wrapper *w, const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);
/* Write the wrapper of a kernel. Returns 0 or -ENOMEM. */
int gpubpf_wrap_kernel(FILE *out, struct wrapper *w, const struct gpubpf_cl_source *source,
		       const struct gpubpf_cl_unit *unit, struct gpubpf_pool *pool);

#endif
