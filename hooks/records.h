/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an adapter remembers of its runtime's objects while they are there: records found by a handle, counted as the
 * application counts its references, and taken out with the last one. (Those that are never freed, and found without a
 * lock, are handles.h's.)
 */
#ifndef GPUBPF_HOOKS_RECORDS_H
#define GPUBPF_HOOKS_RECORDS_H

#include <pthread.h>
#include <stdint.h>

struct gpubpf_record {               /* first in the adapter's own */
	struct gpubpf_record *next;
	void *handle;
	uint32_t refs;
};

#define GPUBPF_RECORD_SHARDS 4       /* a fork takes the locks of all tables, and ThreadSanitizer knows 64 a thread */
#define GPUBPF_RECORD_BUCKETS 256

struct gpubpf_records {
	struct gpubpf_records *next; /* of all tables */
	struct gpubpf_record_shard { /* its lock is held for a look-up, and while gpubpf_records_each() goes through it */
		pthread_mutex_t lock;
		struct gpubpf_record *bucket[GPUBPF_RECORD_BUCKETS];
	} shard[GPUBPF_RECORD_SHARDS];
};

/* Define a table, empty; the child of a fork finds it whole. */
#define GPUBPF_RECORDS(table)                                                \
	struct gpubpf_records table;                                         \
	__attribute__((constructor)) static void init_##table(void)          \
	{                                                                    \
		gpubpf_records_init(&table);                                 \
	}

void gpubpf_records_init(struct gpubpf_records *records);
void gpubpf_records_add(struct gpubpf_records *records, void *handle, struct gpubpf_record *record); /* one reference */
void *gpubpf_records_find(struct gpubpf_records *records, const void *handle); /* NULL: none */
void gpubpf_records_retain(struct gpubpf_records *records, const void *handle);
/* Take one reference: the record if it was the last one, now out of the table; else NULL. */
void *gpubpf_records_release(struct gpubpf_records *records, const void *handle);
/* Call fn for each, by the table's locks. */
void gpubpf_records_each(struct gpubpf_records *records, void (*fn)(struct gpubpf_record *record, void *arg), void *arg);

#endif
