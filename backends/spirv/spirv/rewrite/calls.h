/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles functions with BPF programs at their calls or returns. Such a BPF program reads ctx->arg[] as the function's
 * arguments, not the kernel's. Therefore each call of the function has its own environment, which starts as a copy of
 * the kernel's.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_CALLS_H

#include "splice.h"

/* code that is added to a function with BPF programs at its calls or returns */
struct spv_call_sites {
	const struct gpubpf_spv_kernel *function;
	struct spv_words variables; /* OpVariable instructions, inserted at the start of the first basic block */
	/* code inserted before instruction `top` of the module, the first instruction after the function's variables */
	struct spv_words body;
	uint32_t top;
	uint32_t env; /* id of the environment, of type pointer to u64 */
	/*
	 * ids of a variable for the returned struct or array, and of a pointer to its bytes; 0 for other return types
	 */
	uint32_t result, result_bytes;
	uint32_t size; /* size of the returned value in bytes */
};

/* Prepare in->called[] for the functions of the places in in->body. Returns 0 or -ENOMEM. */
int spv_calls_init(struct inject *in);
void spv_calls_finish(struct inject *in);
/* Returns the code that is added to a function, or NULL if no BPF program is at its calls or returns. */
struct spv_call_sites *spv_call_sites(const struct inject *in, uint32_t function);

#endif
