/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter's records of live runtime objects. A record is found by handle, counts the application's references and
 * leaves the table with the last one. (handles.h has tables whose records are never freed and found without a lock.)
 */
#ifndef GPUBPF_HOOKS_RECORDS_H
#define GPUBPF_HOOKS_RECORDS_H

#include <pthread.h>
#include <stdint.h>

struct gpubpf_record { /* first member of the adapter's record */
	struct gpubpf_record *next;
	void *handle;
	uint32_t refs;
};

/* per table. A fork takes all locks of all tables, and ThreadSanitizer tracks at most 64 locks per thread. */
#define GPUBPF_RECORD_SHARDS 4
#define GPUBPF_RECORD_BUCKETS 256

struct gpubpf_records {
	struct gpubpf_records *next; /* list of all tables */
	struct gpubpf_record_shard { /* the lock protects bucket[] and the records in it */
		pthread_mutex_t lock;
		struct gpubpf_record *bucket[GPUBPF_RECORD_BUCKETS];
	} shard[GPUBPF_RECORD_SHARDS];
};

/* Defines an empty table; it stays consistent in the child of a fork. */
#define GPUBPF_RECORDS(table)                                                \
	struct gpubpf_records table;                                         \
	__attribute__((constructor)) static void init_##table(void)          \
	{                                                                    \
		gpubpf_records_init(&table);                                 \
	}

void gpubpf_records_init(struct gpubpf_records *records);
/* Add a record with one reference. */
void gpubpf_records_add(struct gpubpf_records *records, void *handle, struct gpubpf_record *record);
void *gpubpf_records_find(struct gpubpf_records *records, const void *handle); /* NULL: none */
void gpubpf_records_retain(struct gpubpf_records *records, const void *handle);
/* Drop one reference. If it was the last one, removes the record from the table and returns it; else NULL. */
void *gpubpf_records_release(struct gpubpf_records *records, const void *handle);
/* Call fn for each record with its shard locked. */
void gpubpf_records_each(struct gpubpf_records *records, void (*fn)(struct gpubpf_record *record, void *arg), void *arg);

#endif
