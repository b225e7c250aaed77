/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena allocator. gpubpf_pool_finish() frees all allocations of a pool, which belong to one job or one pass, at
 * once. Zero-initialize a pool, or start from GPUBPF_POOL_INIT.
 */
#ifndef GPUBPF_CORE_WIRE_POOL_H
#define GPUBPF_CORE_WIRE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_pool_block;

struct gpubpf_pool {
	struct gpubpf_pool_block *blocks;
	size_t used;    /* used bytes of the newest block, the first in the list */
	uint64_t total; /* bytes allocated */
	bool failed;    /* an allocation failed: the result is incomplete */
};

#define GPUBPF_POOL_INIT ((struct gpubpf_pool){0})

/*
 * Returns n * size zeroed bytes, aligned for anything; never NULL for n == 0. NULL, with `failed` set, on overflow or
 * when memory runs out.
 */
void *gpubpf_pool_alloc(struct gpubpf_pool *pool, size_t n, size_t size);
char *gpubpf_pool_strndup(struct gpubpf_pool *pool, const char *s, size_t n);
void gpubpf_pool_finish(struct gpubpf_pool *pool);

#endif
