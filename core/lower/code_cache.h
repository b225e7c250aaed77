/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache that lowering and targets keep from one job to the next. The worker's loop owns the cache and passes it in
 * the job. Without a cache in the job, nothing is cached. Each user of the cache has one slot.
 */
#ifndef GPUBPF_CORE_LOWER_CODE_CACHE_H
#define GPUBPF_CORE_LOWER_CODE_CACHE_H

#include <stdlib.h>

#define GPUBPF_MAX_CACHE_SLOTS 4

struct gpubpf_code_cache {
	struct gpubpf_cache_slot {
		void *data; /* NULL: the slot is free */
		/* frees data; the function's address also identifies the user of the slot */
		void (*destroy)(void *data);
	} slot[GPUBPF_MAX_CACHE_SLOTS];
};

/*
 * Returns the data of the user with this `destroy` function, zeroed on its first call. Returns NULL if there is no
 * cache, no free slot or no memory.
 */
static inline void *gpubpf_cache_data(struct gpubpf_code_cache *cache, size_t size, void (*destroy)(void *data))
{
	for (int i = 0; cache && i < GPUBPF_MAX_CACHE_SLOTS; i++) {
		struct gpubpf_cache_slot *slot = &cache->slot[i];

		if (!slot->data) {
			slot->data = calloc(1, size);
			slot->destroy = destroy;
		}
		if (slot->destroy == destroy)
			return slot->data;
	}
	return NULL;
}

static inline void gpubpf_cache_finish(struct gpubpf_code_cache *cache)
{
	for (int i = 0; i < GPUBPF_MAX_CACHE_SLOTS; i++)
		if (cache->slot[i].data)
			cache->slot[i].destroy(cache->slot[i].data);
	*cache = (struct gpubpf_code_cache){ 0 };
}

#endif
