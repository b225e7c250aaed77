/* SPDX-License-Identifier: Apache-2.0 */
/* Caches the twins of a session in memory, by the keys of their requests. */
#include "twin_cache.h"

#include <stdlib.h>
#include <string.h>

#include "build_pool.h"
#include "core/wire/checks.h"

#define MAX_CACHED 8192

struct gpubpf_cached_twin {
	struct gpubpf_cached_twin *next;
	uint8_t key[32];
	struct gpubpf_twin *twin; /* NULL: a builder is building it */
};

void gpubpf_twin_cache_init(struct gpubpf_twin_cache *cache, pthread_mutex_t *lock)
{
	cache->lock = lock;
	pthread_cond_init(&cache->added, NULL);
}

static struct gpubpf_cached_twin *find_cached(struct gpubpf_twin_cache *cache, const uint8_t key[32])
{
	struct gpubpf_cached_twin *c = cache->row[key[0]];

	while (c && memcmp(c->key, key, 32))
		c = c->next;
	return c;
}

struct gpubpf_twin *gpubpf_twin_cache_find(struct gpubpf_twin_cache *cache, const uint8_t key[32])
{
	struct gpubpf_cached_twin *c;

	gpubpf_assert_held(cache->lock);
	while ((c = find_cached(cache, key)) && !c->twin && !cache->stop)
		pthread_cond_wait(&cache->added, cache->lock);
	if (c && c->twin)
		__atomic_add_fetch(&c->twin->refs, 1, __ATOMIC_RELAXED);
	return c ? c->twin : NULL;
}

struct gpubpf_twin *gpubpf_twin_cache_get(struct gpubpf_twin_cache *cache, const uint8_t key[32],
					  struct gpubpf_cached_twin **claim)
{
	struct gpubpf_twin *twin = gpubpf_twin_cache_find(cache, key);
	struct gpubpf_cached_twin *c;

	*claim = NULL;
	if (twin || find_cached(cache, key))
		return twin;
	if (cache->n == MAX_CACHED || !(c = calloc(1, sizeof(*c))))
		return NULL;
	memcpy(c->key, key, 32);
	c->next = cache->row[key[0]];
	cache->row[key[0]] = c;
	cache->n++;
	*claim = c;
	return NULL;
}

void gpubpf_twin_cache_put(struct gpubpf_twin_cache *cache, struct gpubpf_cached_twin *claim, struct gpubpf_twin *twin)
{
	struct gpubpf_cached_twin **at = &cache->row[claim->key[0]];

	gpubpf_assert_held(cache->lock);
	pthread_cond_broadcast(&cache->added);
	if (!twin->transient_failure) {
		__atomic_add_fetch(&twin->refs, 1, __ATOMIC_RELAXED);
		claim->twin = twin;
		return;
	}
	while (*at != claim)
		at = &(*at)->next;
	*at = claim->next;
	cache->n--;
	free(claim);
}

static void free_cache(struct gpubpf_cached_twin *c)
{
	while (c) {
		struct gpubpf_cached_twin *next = c->next;

		gpubpf_twin_put(c->twin);
		free(c);
		c = next;
	}
}

void gpubpf_twin_cache_stop(struct gpubpf_twin_cache *cache)
{
	gpubpf_assert_held(cache->lock);
	cache->stop = true;
	pthread_cond_broadcast(&cache->added);
}

void gpubpf_twin_cache_finish(struct gpubpf_twin_cache *cache)
{
	for (int i = 0; i < GPUBPF_TWIN_CACHE_ROWS; i++)
		free_cache(cache->row[i]);
	pthread_cond_destroy(&cache->added);
}
