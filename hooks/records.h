/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter's records of live runtime objects. The key of a record is the object's handle. A record counts the
 * application's references, and is removed from the table with the last reference. (handles.h has tables whose records
 * are never freed and found without a lock.)
 */
#ifndef GPUBPF_HOOKS_RECORDS_H
#define GPUBPF_HOOKS_RECORDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gpubpf_record { /* embedded as the first member of an adapter's record */
	struct gpubpf_record *next;
	void *handle;
	uint32_t refs;
};

/*
 * Number of shards per table. A fork takes all locks of all tables, and ThreadSanitizer tracks at most 64 locks per
 * thread.
 */
#define GPUBPF_RECORD_SHARDS 4
#define GPUBPF_RECORD_BUCKETS 256

struct gpubpf_records {
	struct gpubpf_records *next; /* next in the list of all tables */
	struct gpubpf_record_shard { /* the lock protects bucket[] and the records in it */
		pthread_mutex_t lock;
		struct gpubpf_record *bucket[GPUBPF_RECORD_BUCKETS];
	} shard[GPUBPF_RECORD_SHARDS];
};

/* Define an empty table. It stays consistent in the child of a fork. */
#define GPUBPF_RECORDS(table)                                                \
	struct gpubpf_records table;                                         \
	__attribute__((constructor)) static void init_##table(void)          \
	{                                                                    \
		gpubpf_records_init(&table);                                 \
	}

void gpubpf_records_init(struct gpubpf_records *records);
/* Add a record with one reference. */
void gpubpf_records_add(struct gpubpf_records *records, void *handle, struct gpubpf_record *record);
/* Add the record of an object that already has `refs` references. */
void gpubpf_records_add_shared(struct gpubpf_records *records, void *handle, struct gpubpf_record *record, uint32_t refs);
/*
 * Remove the record of a handle, or one record for which fn returns true, whatever its number of references. Returns
 * the record, or NULL if there is none.
 */
void *gpubpf_records_take(struct gpubpf_records *records, const void *handle);
void *gpubpf_records_take_if(struct gpubpf_records *records, bool (*fn)(struct gpubpf_record *record, const void *arg),
			     const void *arg);
void *gpubpf_records_find(struct gpubpf_records *records, const void *handle); /* NULL: none */
void gpubpf_records_retain(struct gpubpf_records *records, const void *handle);
/*
 * Release one reference. If it was the last one, removes the record from the table and returns it. Otherwise returns
 * NULL.
 */
void *gpubpf_records_release(struct gpubpf_records *records, const void *handle);
/* Call fn() for each record, with the lock of the record's shard held. */
void gpubpf_records_each(struct gpubpf_records *records, void (*fn)(struct gpubpf_record *record, void *arg), void *arg);

#endif
