/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronized maps: the Linux kernel's programs and the GPU's programs each have a map, and the session keeps the two
 * equal (docs/reference/maps.md). Each kind of map has its file.
 *
 *   kernel_maps.c    which maps are synchronized, and when
 *   sides.c   maps with one value per key          percpu.c  with one per CPU or multiprocessor
 *   queue.c   queues and stacks                    ring.c    records
 */
#ifndef GPUBPF_SESSION_LINUX_MAPS_H
#define GPUBPF_SESSION_LINUX_MAPS_H

#include "core/load/linux/linux_map.h"
#include "merge.h"
#include "core/session/maps/synced.h"
#include "core/session/session.h"

#define GPUBPF_LINUX_PASS_NS 10000000u /* period of passes, unless a pass takes long */
#define GPUBPF_LINUX_RECORD_WAIT_NS 50000000u /* time that a record waits for records with an earlier time */

#define GPUBPF_LINUX_NOT_SHARED "map %s is not shared: the Linux kernel's programs and the GPU's have one each: %s"
#define GPUBPF_LINUX_BOTH_TAKE "programs of both sides take values out"

struct perf_buffer;
struct ring_buffer;
struct sys_object;

/* Synchronize a map of the session with the kernel's map fd, which outlives it. The session must have its first arena.
 * kernel_pops: kernel programs pop values from the queue. Returns NULL, or why the maps cannot be synchronized. */
const char *gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd, bool kernel_pops);
void gpubpf_linux_maps_close(struct gpubpf_session *s);
/* Why maps of this kind are never synchronized; NULL: they can be. */
const char *gpubpf_linux_maps_why_never(const struct gpubpf_map *map);
/* suspended true: suspend synchronization, because no kernel program uses the map. False: resume it. */
void gpubpf_linux_maps_suspend(struct gpubpf_session *s, uint32_t map, bool suspended);
/* Synchronize the map at this key; NULL: at all keys, if that does not take long. Call it before a read and after a
 * write. */
void gpubpf_linux_maps_sync(struct gpubpf_session *s, uint32_t map, const void *key);
bool gpubpf_linux_maps_is_active(const struct gpubpf_session *s); /* is a map synchronized and not suspended? */
void gpubpf_linux_maps_pass(struct gpubpf_session *s); /* run a pass now: before a read, and when the session stops */
void gpubpf_linux_maps_poll(struct gpubpf_session *s); /* run a pass if one is due */
/* Must mirrors be copied, because devices with their own memory have synchronized maps? True once per period. */
bool gpubpf_linux_maps_need_mirrors(struct gpubpf_session *s);

/* A kernel program that pops values from the queue was loaded: from now on values go to the kernel's side. */
void gpubpf_linux_queue_reverse(struct gpubpf_session *s, uint32_t map);

/* Read all rings now, and deliver to loaders every record written until now.  */
void gpubpf_linux_rings_flush(struct gpubpf_session *s);
/* -- for the files of this folder -- */

struct gpubpf_linux_synced_map;

struct gpubpf_linux_heap {
	struct gpubpf_linux_record **record;
	uint64_t n, room, bytes, number;
};

int gpubpf_linux_record_add(struct gpubpf_linux_synced_map *c, int arena, uint32_t copy, const void *data, uint32_t size);
void gpubpf_linux_ring_read(struct gpubpf_linux_synced_map *c);
/* Deliver the records of h with a time up to `until`; returns their number. reader: the loader's map object if h
 * belongs to one map, or NULL. */
uint64_t gpubpf_linux_records_deliver(struct gpubpf_session *s, struct gpubpf_linux_heap *h, struct sys_object *reader,
				      uint64_t until);
bool gpubpf_linux_records_has_room(const struct gpubpf_linux_heap *h);
void gpubpf_linux_records_free(struct gpubpf_linux_heap *h);

/* The operations for one kind of map. Those with a result return 0 or -errno. */
struct gpubpf_linux_kind {
	int (*open)(struct gpubpf_linux_synced_map *c); /* -E2BIG: values are too large */
	int (*pass)(struct gpubpf_linux_synced_map *c);
	int (*sync_key)(struct gpubpf_linux_synced_map *c, const void *key); /* synchronize one key; NULL: run a whole
									    * pass instead */
	void (*close)(struct gpubpf_linux_synced_map *c);                    /* also after a failed open */
};

extern const struct gpubpf_linux_kind gpubpf_linux_keyed, gpubpf_linux_percpu, gpubpf_linux_queue, gpubpf_linux_ring;

struct gpubpf_linux_synced_map {
	struct gpubpf_session *s;
	uint32_t map;
	int fd; /* the kernel's map, not owned */
	const struct gpubpf_linux_kind *kind;
	struct gpubpf_linux_map *kernel;
	struct gpubpf_merge *merge;  /* NULL: keys are fixed */
	uint32_t word;               /* bytes of the words that are merged one by one; 0: values change as
					    * a whole */
	bool full_noted;             /* a note about a full side was reported */
	bool stale_noted;            /* warn_stale_clock() has checked the map */
	gpubpf_merge_found_fn found; /* callback of the current walk */
	void *arg;
	uint8_t *zeros;      /* zero values for all multiprocessors, or all CPUs */
	bool kernel_pops;    /* kernel programs pop values, so values go to the kernel's side */
	bool both_pop;       /* programs of both sides pop values, so each side keeps its own values */
	uint8_t *in_transit; /* [n_in_transit] values that one side has popped and the other has no
						  * room for, the oldest first; at most max_entries */
	uint32_t n_in_transit;
	struct ring_buffer *ring; /* reader of the kernel's ring; NULL: the map is a PERF_EVENT_ARRAY, and
					    * `perf` reads it */
	struct perf_buffer *perf;
	struct gpubpf_linux_heap *waiting, own; /* own: records that wait, if a loader reads the map; otherwise they are
						 * in the heap of all rings. waiting points to the heap in use */
	bool suspended;
	uint64_t ended_ns, pass_ns;       /* end and duration of the last pass */
	uint64_t opened_ns, lost;         /* lost: number of records */
	struct gpubpf_linux_record_info { /* facts about records with the size of the last one */
		uint32_t size;
		bool padded;  /* perf events have up to 7 bytes of padding */
		uint32_t own; /* bytes without padding */
		int32_t time; /* byte offset of its time; -1: it has no time */
		int object;   /* the object that defines their types */
	} record_info;
};

static inline const struct gpubpf_map *gpubpf_linux_get_map(const struct gpubpf_linux_synced_map *c)
{
	return &c->s->loaded->unit.maps[c->map];
}

/* Iterate over the kernel's map for merge.c: `each` passes every element to c->found. */
int gpubpf_linux_kernel_each(struct gpubpf_linux_synced_map *c, gpubpf_linux_element_fn each,
			     gpubpf_merge_found_fn found, void *arg);
int gpubpf_linux_kernel_erase(void *side, const void *key);
/* Do programs of both sides pop values from the queue? */
bool gpubpf_linux_queue_is_split(const struct gpubpf_session *s, uint32_t map, bool kernel_pops);
/* Run one pass of c->merge, and report a note if a side is full. */
int gpubpf_linux_merge(struct gpubpf_linux_synced_map *c);

#endif
