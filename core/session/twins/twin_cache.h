/* SPDX-License-Identifier: Apache-2.0 */
/* The twins of a session by the keys of their requests. Builders share the cache. The caller of each function except
 * init and finish must hold its lock. */
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
	pthread_cond_t added; /* signalled when a twin was added, or the cache stops */
	struct gpubpf_cached_twin *row[GPUBPF_TWIN_CACHE_ROWS]; /* by the first byte of the key */
	uint32_t n;
	bool stop;
};

/* *cache must be zeroed, and the lock must outlive it. */
void gpubpf_twin_cache_init(struct gpubpf_twin_cache *cache, pthread_mutex_t *lock);
/* Returns the twin from the cache; waits for it if a builder is building it. NULL: it is not in the cache, and no
 * builder is building it. */
struct gpubpf_twin *gpubpf_twin_cache_find(struct gpubpf_twin_cache *cache, const uint8_t key[32]);
/* As gpubpf_twin_cache_find(). If it returns NULL and *claim, the caller must build the twin. If *claim is NULL too, the
 * cache is full, or the session stops. */
struct gpubpf_twin *gpubpf_twin_cache_get(struct gpubpf_twin_cache *cache, const uint8_t key[32],
					  struct gpubpf_cached_twin **claim);
/* Adds the twin that was built for the claim, and wakes all threads that wait for it. */
void gpubpf_twin_cache_put(struct gpubpf_twin_cache *cache, struct gpubpf_cached_twin *claim, struct gpubpf_twin *twin);
/* Ends the waits of all threads, which then get NULL. */
void gpubpf_twin_cache_stop(struct gpubpf_twin_cache *cache);
void gpubpf_twin_cache_finish(struct gpubpf_twin_cache *cache);

#endif
