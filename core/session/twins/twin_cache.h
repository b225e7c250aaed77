/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of a session's twins, by the keys of their requests. All builders share the cache. Except for init and
 * finish, the caller of each function must hold the cache's lock.
 */
#ifndef GPUBPF_SESSION_TWIN_CACHE_H
#define GPUBPF_SESSION_TWIN_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define GPUBPF_TWIN_CACHE_ROWS 256

struct gpubpf_cached_twin;
struct gpubpf_twin;

struct gpubpf_twin_cache {
	pthread_mutex_t *lock;
	pthread_cond_t added; /* signalled when a twin is added, or when the cache stops */
	struct gpubpf_cached_twin *row[GPUBPF_TWIN_CACHE_ROWS]; /* hash table, indexed by the first byte of the key */
	uint32_t n;
	bool stop;
};

/* *cache must be zeroed. The lock must exist longer than the cache. */
void gpubpf_twin_cache_init(struct gpubpf_twin_cache *cache, pthread_mutex_t *lock);
/*
 * Returns the twin with this key. If a builder is building it, waits until the twin is added. Returns NULL if the cache
 * has no such twin and no builder is building it.
 */
struct gpubpf_twin *gpubpf_twin_cache_find(struct gpubpf_twin_cache *cache, const uint8_t key[32]);
/*
 * Like gpubpf_twin_cache_find(). If it returns NULL and sets *claim, the caller must build the twin and call
 * gpubpf_twin_cache_put(). If *claim is NULL too, the cache is full, or the session stops.
 */
struct gpubpf_twin *gpubpf_twin_cache_get(struct gpubpf_twin_cache *cache, const uint8_t key[32],
					  struct gpubpf_cached_twin **claim);
/* Add the twin that was built for the claim, and wake all threads that wait for it. */
void gpubpf_twin_cache_put(struct gpubpf_twin_cache *cache, struct gpubpf_cached_twin *claim, struct gpubpf_twin *twin);
/* End the waits of all threads. These threads then get NULL. */
void gpubpf_twin_cache_stop(struct gpubpf_twin_cache *cache);
void gpubpf_twin_cache_finish(struct gpubpf_twin_cache *cache);

#endif
