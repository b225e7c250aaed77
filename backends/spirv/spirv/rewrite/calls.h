/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with programs at their calls or returns. Such a program finds the function's arguments where other programs
 * find the kernel's arguments. Therefore each call has a separate environment, initialised from the kernel's.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H

#include "splice.h"

/* the code that is added to a function */
struct spv_call_sites {
	const struct gpubpf_spv_kernel *function;
	struct spv_words variables; /* declared at the start of the function's first block */
	/* inserted before instruction `top` of the module, which is the first one after the variables */
	struct spv_words body;
	uint32_t top;
	uint32_t env; /* id of the environment, a pointer to u64 */
	/* a variable for the returned value, and a pointer to its bytes; 0: the value needs no variable */
	uint32_t result, result_bytes;
	uint32_t size; /* size of the returned value in bytes */
};

/* Prepare the functions named by in->body. 0 or -ENOMEM. */
int spv_calls_init(struct inject *in);
void spv_calls_finish(struct inject *in);
/* Returns the code that is added to a function; NULL: no program is at its calls or returns. */
struct spv_call_sites *spv_call_sites(const struct inject *in, uint32_t function);

#endif
