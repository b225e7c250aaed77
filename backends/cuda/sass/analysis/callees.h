/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions in other code sections that a kernel may call, and checks that its twin can call them too.
 *
 * The twin contains copies of the functions that the kernel calls by name, directly or through other functions.
 * Functions that the kernel calls through pointers stay in the application's module. The twin calls them there, because
 * all modules of a context share one address space. Neither kind of function contains probes, so neither may end
 * threads.
 *
 * A function returns only after its results are written and its stores have read their registers. Its caller is
 * compiled separately and cannot wait for these operations. So ptxas gives even a dead load in a function a scoreboard,
 * and RET waits for it.
 *
 * Does:     collects the code sections that a kernel may call, and checks that a twin may call them.
 * Before:   sass_cubin_open() has validated the image.
 * After:    each called section is listed once, or the kernel is refused.
 * Requires: the image has a relocation for every call and for every address of a function.
 */
#ifndef GPUBPF_SASS_CALLEES_H
#define GPUBPF_SASS_CALLEES_H

#include "backends/cuda/sass/cubin/cubin.h"

struct gpubpf_diag;
struct sass_code;

/* indices of code sections: first the kernel's section, then one for each function that is called by name */
struct sass_texts {
	uint32_t *section;       /* malloc'd */
	uint32_t n, relocations; /* relocations: number of relocations in all these sections */
};

/* Lists the kernel's section and the sections of the functions that it calls by name. Returns 0, -ENOMEM, or -EINVAL
 * with the reason in *diag why a twin cannot call one of the functions. */
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
