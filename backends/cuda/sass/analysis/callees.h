/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions in other code sections that a kernel calls.
 * The twin gets copies of the functions that the kernel's code names, directly or through others. Functions that it
 * calls through pointers stay in the application's module and run there for the twin too: all modules of a context see
 * the same addresses. Neither kind gets a probe, so neither may end threads.
 * A function returns only when its results are written and its stores have read their registers, because its caller is
 * compiled separately and cannot wait for them. In functions ptxas gives even a dead load a scoreboard, and RET waits
 * for it.
 *
 * Does:     collects the sections of code that a kernel may call, and checks that a twin may call them.
 * Before:   sass_cubin_open() has validated the image.
 * After:    each called section is listed once, or the kernel is refused.
 * Requires: relocations that name every call and every address of a function.
 */
#ifndef GPUBPF_SASS_CALLEES_H
#define GPUBPF_SASS_CALLEES_H

#include "backends/cuda/sass/cubin/cubin.h"

struct gpubpf_diag;
struct sass_code;

/* indices of code sections, each once: the kernel's section, then the sections of functions that are called by name */
struct sass_texts {
	uint32_t *section;       /* malloc'd */
	uint32_t n, relocations; /* relocations: number of relocations of all these sections */
};

/* Lists the sections. Returns 0; -EINVAL with the reason in *diag why a twin cannot call one of the functions;
 * -ENOMEM. */
int sass_texts_find(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_texts *texts,
		    struct gpubpf_diag *diag);
void sass_texts_finish(struct sass_texts *texts);

/* Checks that a twin may call every function that the kernel may call in other sections. by_pointer: the kernel
 * calls functions through pointers. Returns 0; -EINVAL with the reason in *diag; -ENOMEM. */
int sass_callees_check(const struct sass_cubin *cubin, const struct sass_kernel *kernel, bool by_pointer,
		       struct gpubpf_diag *diag);

/* Checks that neither the kernel nor a function that it may call reads the size of the block's shared memory.
 * Returns 0; -EINVAL with the reason in *diag; -ENOMEM. */
int sass_callees_check_shared_size(const struct sass_cubin *cubin, const struct sass_kernel *kernel, bool by_pointer,
				   struct gpubpf_diag *diag);

#endif
