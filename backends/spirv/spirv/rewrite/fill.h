/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the parameters of a kernel or function in an environment. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H

#include "splice.h"

/* an environment to fill. Its variables stand at the start of the function's first block; the code that fills it
 * follows them. */
struct spv_fill {
	struct inject *in;
	struct spv_words *variables, *body;
	const struct gpubpf_spv_kernel *owner; /* the kernel or function that has the parameters */
	const struct gpubpf_site_desc *site;   /* any site whose programs use the environment */
	const uint32_t *param;                 /* [of->info.nparams] ids of the parameters */
	uint32_t env;                          /* id of the environment, a pointer to u64 */
	struct gpubpf_env_use use;
};

/* Declare a variable for an environment and the words that follow it; returns the pointer's id. */
uint32_t spv_new_env(struct spv_fill *f);
/* Declare a variable of a type of this size; returns the id of a pointer to its bytes. */
uint32_t spv_new_bytes(struct spv_fill *f, uint32_t type, uint32_t size, uint32_t *variable);
/* Store the arguments that programs read, and the address of the bytes that helper 520 reads. */
void spv_fill_args(struct spv_fill *f);
/* Copy bytes within private memory. */
void spv_copy_bytes(struct inject *in, struct spv_words *out, uint32_t to, uint32_t from, uint32_t size);

#endif
