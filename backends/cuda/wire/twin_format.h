/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the formats of twins. The worker writes them, and the agent reads them, so these functions need only libc. A
 * twin in PTX may have a second kernel, for one-dimensional launches. A twin in machine code is a cubin and a table of
 * application variables; the agent stores the variables' addresses in the cubin before loading.
 */
#ifndef GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H
#define GPUBPF_BACKENDS_CUDA_WIRE_TWIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name suffix of the twin's second kernel, for launches whose grid and block have y and z sizes of 1 */
#define CUDA_FLAT_SUFFIX "$gpubpf_flat"

enum cuda_twin_part { CUDA_TWIN_WHOLE, CUDA_TWIN_LOW, CUDA_TWIN_HIGH };

/*
 * A position in the cubin where the agent stores an address: that of a variable of the application's module, plus
 * `addend`. The agent stores all 8 bytes of this sum, or its low or high 4 bytes.
 */
struct cuda_twin_address {
	const char *name;
	uint64_t off; /* offset in bytes from the start of the cubin */
	int64_t addend;
	enum cuda_twin_part part;
};

/*
 * Appends the table of addresses to the cubin *twin, which is malloc'd. On success frees the old *twin and sets the new
 * one. Returns 0, or -ENOMEM and leaves *twin unchanged.
 */
int cuda_twin_pack(void **twin, size_t *size, const struct cuda_twin_address *addresses, uint32_t n);

/*
 * Calls `address` for each variable of the table and stores the address in the cubin. Returns 0, -EINVAL if the twin is
 * malformed, or the first non-zero return value of `address`.
 */
int cuda_twin_bind(void *twin, size_t size, int (*address)(void *arg, const char *name, uint64_t *address), void *arg);

/*
 * Returns true if the twin (PTX text or machine code) has a symbol whose name ends in `symbol`. It may return true by
 * mistake, if other bytes of the twin are equal to `symbol`.
 */
bool cuda_twin_names(const void *twin, size_t size, const char *symbol);

#endif
