/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the parameters of a kernel or function in an environment (struct gpubpf_env). */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H

#include "splice.h"

/*
 * an environment to fill. `variables` receives its variables, for the start of the function's first basic block; `body`
 * receives the code after them.
 */
struct spv_fill {
	struct inject *in;
	struct spv_words *variables, *body;
	const struct gpubpf_spv_kernel *owner; /* the kernel or function whose parameters are stored */
	const struct gpubpf_site_desc *site;   /* any site whose BPF programs use the environment */
	const uint32_t *param;                 /* [owner->info.nparams] ids of the parameters */
	uint32_t env;                          /* id of the environment, of type pointer to u64 */
	struct gpubpf_env_use use;
};

/*
 * Declare a variable that holds an environment, followed by the words of places. Returns the id of a u64 pointer to the
 * variable.
 */
uint32_t spv_new_env(struct spv_fill *f);
/* Declare a variable of a type with this size; *variable receives its id. Returns the id of a u8 pointer to it. */
uint32_t spv_new_bytes(struct spv_fill *f, uint32_t type, uint32_t size, uint32_t *variable);
/* Store in the environment the arguments that BPF programs read, and the address of the bytes that helper 520 reads. */
void spv_fill_args(struct spv_fill *f);
/* Emit code that copies `size` bytes within private memory. */
void spv_copy_bytes(struct inject *in, struct spv_words *out, uint32_t to, uint32_t from, uint32_t size);

#endif
