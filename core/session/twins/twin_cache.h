/* SPDX-License-Identifier: Apache-2.0 */
/* The twins of a session by the keys of their requests. Builders share the cache and its lock, which the caller of each
 * function except init and finish holds. */
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
	pthread_cond_t made;           /* a twin was added */
	struct gpubpf_cached_twin *row[GPUBPF_TWIN_CACHE_ROWS]; /* by the first byte of the key */
	uint32_t n;
	bool stop;
};

/* The cache is zeroed, and the lock outlives it. */
void gpubpf_twin_cache_init(struct gpubpf_twin_cache *cache, pthread_mutex_t *lock);
/* Returns the twin from the cache, and waits for it while another builder builds it; NULL: no builder does. */
struct gpubpf_twin *gpubpf_twin_cache_find(struct gpubpf_twin_cache *cache, const uint8_t key[32]);
/* As gpubpf_twin_cache_find(). If it returns NULL and *claim, the caller must build the twin. If *claim is NULL too, the
 * cache is full, or the session stops. */
struct gpubpf_twin *gpubpf_twin_cache_get(struct gpubpf_twin_cache *cache, const uint8_t key[32], struct gpubpf_cached_twin **claim);
/* Puts the twin that was built for the claim. Wakes all threads that wait for it. */
void gpubpf_twin_cache_put(struct gpubpf_twin_cache *cache, struct gpubpf_cached_twin *claim, struct gpubpf_twin *twin);
/* Ends all waits. */
void gpubpf_twin_cache_stop(struct gpubpf_twin_cache *cache);
void gpubpf_twin_cache_finish(struct gpubpf_twin_cache *cache);

#endif
