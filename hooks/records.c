/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/wire/checks.h"

static struct gpubpf_records *tables; /* list; only constructors write it */

static void lock_all(void)
{
	for (struct gpubpf_records *r = tables; r; r = r->next)
		for (int i = 0; i < GPUBPF_RECORD_SHARDS; i++)
			pthread_mutex_lock(&r->shard[i].lock);
}

static void unlock_all(void)
{
	for (struct gpubpf_records *r = tables; r; r = r->next)
		for (int i = 0; i < GPUBPF_RECORD_SHARDS; i++)
			pthread_mutex_unlock(&r->shard[i].lock);
}

/*
 * pthread_atfork() calls the prepare handlers in reverse order of their registration. This handler is registered first,
 * so a fork takes these locks after all other locks. No thread takes another lock while it holds one of these.
 */
__attribute__((constructor(101))) static void init(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

void gpubpf_records_init(struct gpubpf_records *records)
{
	for (int i = 0; i < GPUBPF_RECORD_SHARDS; i++)
		pthread_mutex_init(&records->shard[i].lock, NULL);
	records->next = tables;
	tables = records;
}

/*
 * Lock the shard of the handle and return it. *head receives the list that contains the handle's record, or would
 * contain it.
 */
static struct gpubpf_record_shard *lock_shard(struct gpubpf_records *records, const void *handle,
					      struct gpubpf_record ***head)
{
	uint64_t h = (uintptr_t)handle * 0x9e3779b97f4a7c15ull >> 40; /* 2^64 / golden ratio */
	struct gpubpf_record_shard *s = &records->shard[h % GPUBPF_RECORD_SHARDS];

	pthread_mutex_lock(&s->lock);
	*head = &s->bucket[h / GPUBPF_RECORD_SHARDS % GPUBPF_RECORD_BUCKETS];
	return s;
}

static struct gpubpf_record **find(struct gpubpf_record **at, const void *handle)
{
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

void gpubpf_records_add_shared(struct gpubpf_records *records, void *handle, struct gpubpf_record *record, uint32_t refs)
{
	struct gpubpf_record **head;
	struct gpubpf_record_shard *s = lock_shard(records, handle, &head);

	record->handle = handle;
	record->refs = refs;
	record->next = *head;
	*head = record;
	pthread_mutex_unlock(&s->lock);
}

void gpubpf_records_add(struct gpubpf_records *records, void *handle, struct gpubpf_record *record)
{
	gpubpf_records_add_shared(records, handle, record, 1);
}

void *gpubpf_records_find(struct gpubpf_records *records, const void *handle)
{
	struct gpubpf_record **head, *record;
	struct gpubpf_record_shard *s = lock_shard(records, handle, &head);

	record = *find(head, handle);
	pthread_mutex_unlock(&s->lock);
	return record;
}

void gpubpf_records_retain(struct gpubpf_records *records, const void *handle)
{
	struct gpubpf_record **head, *record;
	struct gpubpf_record_shard *s = lock_shard(records, handle, &head);

	record = *find(head, handle);
	if (record)
		record->refs++;
	pthread_mutex_unlock(&s->lock);
}

void *gpubpf_records_release(struct gpubpf_records *records, const void *handle)
{
	struct gpubpf_record **head, **at, *record;
	struct gpubpf_record_shard *s = lock_shard(records, handle, &head);

	at = find(head, handle);
	record = *at;
	if (record && !gpubpf_ref_was_last(record->refs--))
		record = NULL;
	else if (record)
		*at = record->next;
	pthread_mutex_unlock(&s->lock);
	return record;
}

void *gpubpf_records_take(struct gpubpf_records *records, const void *handle)
{
	struct gpubpf_record **head, **at, *record;
	struct gpubpf_record_shard *s = lock_shard(records, handle, &head);

	at = find(head, handle);
	record = *at;
	if (record)
		*at = record->next;
	pthread_mutex_unlock(&s->lock);
	return record;
}

/* Remove the first record of a shard for which fn returns true. Returns NULL if there is none. */
static struct gpubpf_record *take_from(struct gpubpf_record_shard *s,
				       bool (*fn)(struct gpubpf_record *record, const void *arg), const void *arg)
{
	for (int b = 0; b < GPUBPF_RECORD_BUCKETS; b++)
		for (struct gpubpf_record **at = &s->bucket[b]; *at; at = &(*at)->next)
			if (fn(*at, arg)) {
				struct gpubpf_record *record = *at;

				*at = record->next;
				return record;
			}
	return NULL;
}

void *gpubpf_records_take_if(struct gpubpf_records *records, bool (*fn)(struct gpubpf_record *record, const void *arg),
			     const void *arg)
{
	struct gpubpf_record *record = NULL;

	for (int i = 0; i < GPUBPF_RECORD_SHARDS && !record; i++) {
		pthread_mutex_lock(&records->shard[i].lock);
		record = take_from(&records->shard[i], fn, arg);
		pthread_mutex_unlock(&records->shard[i].lock);
	}
	return record;
}

void gpubpf_records_each(struct gpubpf_records *records, void (*fn)(struct gpubpf_record *record, void *arg), void *arg)
{
	for (int i = 0; i < GPUBPF_RECORD_SHARDS; i++) {
		struct gpubpf_record_shard *s = &records->shard[i];

		pthread_mutex_lock(&s->lock);
		for (int b = 0; b < GPUBPF_RECORD_BUCKETS; b++)
			for (struct gpubpf_record *r = s->bucket[b]; r; r = r->next)
				fn(r, arg);
		pthread_mutex_unlock(&s->lock);
	}
}
