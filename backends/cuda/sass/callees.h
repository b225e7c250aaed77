/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions in sections of their own, which a kernel calls. Those that its code names, and that they name, are copied to
 * its twin. Those that it calls by pointers stay where they are, in the application's module, and run there for the twin
 * as for the original: their addresses are the same for all modules of a context. Neither gets a probe, so none may end
 * threads. A function returns when its results have landed and its stores have read their registers, since its caller is compiled by
 * itself and could not wait for them: ptxas gives also a dead load there a scoreboard, and RET waits for it.
 */
#ifndef GPUBPF_SASS_CALLEES_H
#define GPUBPF_SASS_CALLEES_H

#include "cubin.h"

struct gpubpf_diag;
struct sass_code;

/* sections of code, each once: the kernel's own, and those of the functions that are called by name */
struct sass_texts {
	uint32_t *section;         /* malloc'd */
	uint32_t n, relocations;   /* and how many relocations they have together */
};

/* 0; -EINVAL and the reason for which a twin cannot call one of them; -ENOMEM. */
int sass_texts_find(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_texts *texts,
		    struct gpubpf_diag *diag);
void sass_texts_finish(struct sass_texts *texts);

/* May a twin of the kernel call whatever its code calls in other sections? 0; -EINVAL and the reason; -ENOMEM. */
int sass_callees_check(const struct sass_cubin *cubin, const struct sass_kernel *kernel, bool by_pointer,
		       struct gpubpf_diag *diag);

/* 0; -EINVAL where the kernel, or what it may call, asks how large the block's shared memory is; -ENOMEM. */
int sass_callees_ask_shared(const struct sass_cubin *cubin, const struct sass_kernel *kernel, bool by_pointer,
			    struct gpubpf_diag *diag);

#endif
