/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of twins; the worker writes them and the agent reads them, so it needs libc only. A twin in PTX may have a
 * second kernel, for one-dimensional launches. A twin in machine code is a cubin, followed by the application's
 * variables whose addresses the agent stores into it before loading.
 */
#ifndef GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H
#define GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_FLAT_SUFFIX "$gpubpf_flat" /* suffix of the name of the twin's second kernel, for grids and blocks whose y
					 * and z sizes are 1 */

enum cuda_twin_part { CUDA_TWIN_WHOLE, CUDA_TWIN_LOW, CUDA_TWIN_HIGH };

/* A position in the cubin at which the agent stores the address of a variable of the application's module, plus
 * `addend`. It stores all 8 bytes of the sum, or its low or high 4 bytes. */
struct cuda_twin_address {
	const char *name;
	uint64_t off; /* bytes from the start of the cubin */
	int64_t addend;
	enum cuda_twin_part part;
};

/* Appends the addresses to the cubin, which is malloc'd. On success it frees the old *twin and sets the new one.
 * Returns 0, or -ENOMEM and leaves it unchanged. */
int cuda_twin_pack(void **twin, size_t *size, const struct cuda_twin_address *addresses, uint32_t n);

/* Calls `address` for each variable and stores the result. Returns 0, -EINVAL if the twin is malformed, or the non-zero
 * return of `address`. */
int cuda_twin_bind(void *twin, size_t size, int (*address)(void *arg, const char *name, uint64_t *address), void *arg);

/* Returns the machine code that follows the text of a twin and a NUL, or NULL if there is none. */
const void *cuda_twin_code(const void *twin, size_t size, size_t *code_size);

/* Returns true if the twin (PTX text or machine code) has a symbol whose name ends in `symbol`. It may also return true
 * because other bytes match. */
bool cuda_twin_names(const void *twin, size_t size, const char *symbol);

#endif
