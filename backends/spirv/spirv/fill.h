/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a kernel, or of a function, in an environment. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_FILL_H

#include "splice.h"

/* an environment being filled: variables at the beginning of a function's first block, what fills it behind them */
struct spv_fill {
	struct inject *in;
	struct spv_words *variables, *body;
	const struct gpubpf_spv_kernel *of;
	const struct gpubpf_site_desc *site; /* any of its programs' */
	const uint32_t *param;         /* [of->info.nparams] ids */
	uint32_t env;                  /* a pointer to u64 */
	struct gpubpf_env_use use;
};

/* A variable for an environment with the words behind it; returns the pointer. */
uint32_t spv_new_env(struct spv_fill *f);
/* A variable of a type of that size; returns a pointer to its bytes. */
uint32_t spv_new_bytes(struct spv_fill *f, uint32_t type, uint32_t size, uint32_t *variable);
/* Store the arguments that programs read, and where the bytes are that helper 520 does. */
void spv_fill_args(struct spv_fill *f);
/* Bytes from one place of private memory to another. */
void spv_copy_bytes(struct inject *in, struct spv_words *out, uint32_t to, uint32_t from, uint32_t size);

#endif
