/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

#include "core/wire/checks.h"

#define SHARDS 64
#define BUCKETS 64

/* A shard's lock is held for a look-up and never while anything else is called. */
struct shard {
	pthread_mutex_t lock;
	struct ocl_object *buckets[BUCKETS];
};

static struct shard shards[OCL_TABLES][SHARDS];

static uint64_t mix(const void *handle)
{
	uint64_t h = (uintptr_t)handle;

	h *= 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */
	return h >> 40;
}

static struct shard *lock_shard(enum ocl_table table, const void *handle, struct ocl_object ***head)
{
	uint64_t h = mix(handle);
	struct shard *s = &shards[table][h % SHARDS];

	pthread_mutex_lock(&s->lock);
	*head = &s->buckets[h / SHARDS % BUCKETS];
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
	for (int t = 0; t < OCL_TABLES; t++)
		for (int i = 0; i < SHARDS; i++)
			pthread_mutex_lock(&shards[t][i].lock);
}

static void unlock_all(void)
{
	for (int t = 0; t < OCL_TABLES; t++)
		for (int i = 0; i < SHARDS; i++)
			pthread_mutex_unlock(&shards[t][i].lock);
}

void ocl_table_init(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}
