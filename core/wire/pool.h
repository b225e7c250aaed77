/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena allocator. All allocations of a pool belong to one job or one pass, and gpubpf_pool_finish() frees them at
 * once. Initialise a pool with zeros or GPUBPF_POOL_INIT.
 */
#ifndef GPUBPF_CORE_WIRE_POOL_H
#define GPUBPF_CORE_WIRE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_pool_block;

struct gpubpf_pool {
	struct gpubpf_pool_block *blocks;
	size_t used;    /* bytes used in the newest block, which is the first of the list */
	uint64_t total; /* bytes allocated */
	bool failed;    /* an allocation failed, so the result is incomplete */
};

#define GPUBPF_POOL_INIT ((struct gpubpf_pool){0})

/*
 * Returns n * size zeroed bytes, aligned for any type. For n == 0 the result is not NULL. On overflow, or if memory
 * runs out, sets `failed` and returns NULL.
 */
void *gpubpf_pool_alloc(struct gpubpf_pool *pool, size_t n, size_t size);
char *gpubpf_pool_strndup(struct gpubpf_pool *pool, const char *s, size_t n);
void gpubpf_pool_finish(struct gpubpf_pool *pool);

#endif
