/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 16
#define BLOCK (64 * 1024)

struct gpubpf_pool_block {
	struct gpubpf_pool_block *next;
	size_t room;
	_Alignas(ALIGN) uint8_t data[];
};

static struct gpubpf_pool_block *grow(struct gpubpf_pool *pool, size_t least)
{
	size_t room = least > BLOCK ? least : BLOCK;
	struct gpubpf_pool_block *block = calloc(1, sizeof(*block) + room);

	if (!block)
		return NULL;
	block->room = room;
	block->next = pool->blocks;
	pool->blocks = block;
	pool->used = 0;
	return block;
}

void *gpubpf_pool_alloc(struct gpubpf_pool *pool, size_t n, size_t size)
{
	struct gpubpf_pool_block *block = pool->blocks;
	size_t bytes;
	void *at;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2) {
		pool->failed = true;
		return NULL;
	}
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!block || block->room - pool->used < bytes)
		block = grow(pool, bytes);
	if (!block) {
		pool->failed = true;
		return NULL;
	}
	at = block->data + pool->used;
	pool->used += bytes;
	pool->total += bytes;
	return at;
}

char *gpubpf_pool_strndup(struct gpubpf_pool *pool, const char *s, size_t n)
{
	char *copy = gpubpf_pool_alloc(pool, n + 1, 1);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}

void gpubpf_pool_finish(struct gpubpf_pool *pool)
{
	while (pool->blocks) {
		struct gpubpf_pool_block *next = pool->blocks->next;

		free(pool->blocks);
		pool->blocks = next;
	}
	*pool = GPUBPF_POOL_INIT;
}
