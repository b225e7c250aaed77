/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with programs where they are called and where they return. Such a program finds the function's arguments where
 * those of the kernel are elsewhere, so each call has an environment of its own, which begins as the kernel's.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H

#include "splice.h"

/* what is added to a function */
struct spv_called {
	const struct gpubpf_spv_kernel *function;
	struct spv_words variables;    /* at the beginning of its first block */
	struct spv_words body;         /* before the instruction `top` of the module, where the variables end */
	uint32_t top;
	uint32_t env;                  /* a pointer to u64 */
	uint32_t result, result_bytes; /* a variable of what is returned, and a pointer to its bytes; 0: it is none of memory's */
	uint32_t size;                 /* of that */
};

/* Of the bodies that in->body has. 0 or -ENOMEM. */
int spv_calls_init(struct inject *in);
void spv_calls_finish(struct inject *in);
/* NULL: there is nothing of that kind in the function. */
struct spv_called *spv_called(const struct inject *in, uint32_t function);

#endif
