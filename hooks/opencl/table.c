/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

#include "core/wire/checks.h"

#define SHARDS 16 /* a fork takes all their locks, and of those ThreadSanitizer knows 64 a thread */
#define BUCKETS 256

/* A shard's lock, of all tables, is held for a look-up and never while anything else is called. */
struct shard {
	pthread_mutex_t lock;
	struct ocl_object *buckets[OCL_TABLES][BUCKETS];
};

static struct shard shards[SHARDS];

static uint64_t mix(const void *handle)
{
	uint64_t h = (uintptr_t)handle;

	h *= 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */
	return h >> 40;
}

static struct shard *lock_shard(enum ocl_table table, const void *handle, struct ocl_object ***head)
{
	uint64_t h = mix(handle);
	struct shard *s = &shards[h % SHARDS];

	pthread_mutex_lock(&s->lock);
	*head = &s->buckets[table][h / SHARDS % BUCKETS];
	return s;
}

static struct ocl_object **find(struct ocl_object **at, const void *handle)
{
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

void ocl_table_add(enum ocl_table table, void *handle, struct ocl_object *object)
{
	struct ocl_object **head;
	struct shard *s = lock_shard(table, handle, &head);

	object->handle = handle;
	object->refs = 1;
	object->next = *head;
	*head = object;
	pthread_mutex_unlock(&s->lock);
}

void *ocl_table_find(enum ocl_table table, const void *handle)
{
	struct ocl_object **head, *object;
	struct shard *s = lock_shard(table, handle, &head);

	object = *find(head, handle);
	pthread_mutex_unlock(&s->lock);
	return object;
}

void ocl_table_retain(enum ocl_table table, const void *handle)
{
	struct ocl_object **head, *object;
	struct shard *s = lock_shard(table, handle, &head);

	object = *find(head, handle);
	if (object)
		object->refs++;
	pthread_mutex_unlock(&s->lock);
}

void *ocl_table_release(enum ocl_table table, const void *handle)
{
	struct ocl_object **head, **at, *object;
	struct shard *s = lock_shard(table, handle, &head);

	at = find(head, handle);
	object = *at;
	if (object && !gpubpf_was_last(object->refs--))
		object = NULL;
	else if (object)
		*at = object->next;
	pthread_mutex_unlock(&s->lock);
	return object;
}

static void lock_all(void)
{
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_lock(&shards[i].lock);
}

static void unlock_all(void)
{
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_unlock(&shards[i].lock);
}

void ocl_table_init(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}
