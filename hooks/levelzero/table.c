/* SPDX-License-Identifier: Apache-2.0 */
#include "levelzero.h"

#define SHARDS 4 /* of each table: a fork takes all their locks, and of those ThreadSanitizer knows 64 a thread */
#define BUCKETS 1024

/* A shard's lock is held for a look-up. */
static struct shard {
	pthread_mutex_t lock;
	struct lz_object *buckets[BUCKETS];
} shards[LZ_TABLES][SHARDS];

static void lock_all(void)
{
	for (int i = 0; i < LZ_TABLES * SHARDS; i++)
		pthread_mutex_lock(&shards[i / SHARDS][i % SHARDS].lock);
}

static void unlock_all(void)
{
	for (int i = 0; i < LZ_TABLES * SHARDS; i++)
		pthread_mutex_unlock(&shards[i / SHARDS][i % SHARDS].lock);
}

/* The child of a fork finds the tables whole. */
__attribute__((constructor)) static void init(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

static struct shard *lock_shard(enum lz_table table, const void *handle, struct lz_object ***head)
{
	uint64_t h = (uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 40; /* 2^64 / golden ratio */
	struct shard *s = &shards[table][h % SHARDS];

	pthread_mutex_lock(&s->lock);
	*head = &s->buckets[h / SHARDS % BUCKETS];
	return s;
}

void lz_table_add(enum lz_table table, const void *handle, struct lz_object *object)
{
	struct lz_object **head;
	struct shard *s = lock_shard(table, handle, &head);

	object->handle = handle;
	object->next = *head;
	*head = object;
	pthread_mutex_unlock(&s->lock);
}

void *lz_table_find(enum lz_table table, const void *handle)
{
	struct lz_object **head, *object;
	struct shard *s = lock_shard(table, handle, &head);

	for (object = *head; object && object->handle != handle;)
		object = object->next;
	pthread_mutex_unlock(&s->lock);
	return object;
}

void *lz_table_take(enum lz_table table, const void *handle)
{
	struct lz_object **at, *object;
	struct shard *s = lock_shard(table, handle, &at);

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	object = *at;
	if (object)
		*at = object->next;
	pthread_mutex_unlock(&s->lock);
	return object;
}

void lz_table_each(enum lz_table table, void (*fn)(struct lz_object *object, void *arg), void *arg)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *s = &shards[table][i];

		pthread_mutex_lock(&s->lock);
		for (int b = 0; b < BUCKETS; b++)
			for (struct lz_object *o = s->buckets[b]; o; o = o->next)
				fn(o, arg);
		pthread_mutex_unlock(&s->lock);
	}
}
