/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronized maps and their operations, which only the files of this folder use. */
#ifndef GPUBPF_SESSION_KERNEL_BPF_PRIVATE_H
#define GPUBPF_SESSION_KERNEL_BPF_PRIVATE_H

#include "core/load/linux/linux_map.h"
#include "core/session/private.h"
#include "kernel_maps.h"
#include "merge.h"

struct gpubpf_linux;
struct perf_buffer;
struct ring_buffer;
struct sys_object;

struct gpubpf_linux_synced_map;

struct gpubpf_linux_heap {
	struct gpubpf_linux_record **record;
	uint64_t n, room, bytes, number;
};

int gpubpf_linux_record_add(struct gpubpf_linux_synced_map *c, int arena, uint32_t copy, const void *data, uint32_t size);
void gpubpf_linux_ring_read(struct gpubpf_linux_synced_map *c);
/*
 * Deliver the records in the heap h whose time is at most `until`. Returns their number. reader: the loader's map
 * object if h belongs to one map; else NULL.
 */
uint64_t gpubpf_linux_records_deliver(struct gpubpf_session *s, struct gpubpf_linux_heap *h, struct sys_object *reader,
				      uint64_t until);
bool gpubpf_linux_records_has_room(const struct gpubpf_linux_heap *h);
void gpubpf_linux_records_free(struct gpubpf_linux_heap *h);

/* The operations for one kind of map. Operations with a result return 0 or -errno. */
struct gpubpf_linux_kind {
	int (*open)(struct gpubpf_linux_synced_map *c); /* -E2BIG: the map's values are too large */
	int (*pass)(struct gpubpf_linux_synced_map *c);
	/* synchronize one key; NULL: the caller runs a pass instead */
	int (*sync_key)(struct gpubpf_linux_synced_map *c, const void *key);
	void (*close)(struct gpubpf_linux_synced_map *c); /* called even if open() failed */
};

extern const struct gpubpf_linux_kind gpubpf_linux_keyed, gpubpf_linux_percpu, gpubpf_linux_queue, gpubpf_linux_ring;

struct gpubpf_linux_synced_map {
	struct gpubpf_session *s;
	uint32_t map;
	int fd; /* the Linux map, not owned */
	const struct gpubpf_linux_kind *kind;
	struct gpubpf_linux_map *kernel;
	struct gpubpf_merge *merge; /* NULL: keys of the map never change */
	/* bytes of the words that are merged one by one; 0: values are merged as one word */
	uint32_t word;
	bool full_noted;             /* the note that one of the two maps is full was reported */
	bool stale_noted;            /* warn_stale_clock() has checked the map */
	gpubpf_merge_found_fn found; /* callback of the current iteration */
	void *arg;
	uint8_t *zeros;   /* values of zero for all multiprocessors or all CPUs */
	bool kernel_pops; /* Linux kernel programs pop values, so a pass moves values to the Linux map */
	bool both_pop;    /* GPU programs and Linux kernel programs pop values, so no values are moved */
	/*
	 * [n_in_transit] values that were popped from one map and do not fit into the other yet, oldest first;
	 * max_entries at most
	 */
	uint8_t *in_transit;
	uint32_t n_in_transit;
	/* reader of the Linux ring buffer; NULL if the map is a PERF_EVENT_ARRAY, which `perf` reads */
	struct ring_buffer *ring;
	struct perf_buffer *perf;
	/* waiting: the heap in use. It is `own` if a loader reads this map, else the heap of all rings */
	struct gpubpf_linux_heap *waiting, own;
	bool suspended;
	uint64_t ended_ns, pass_ns;       /* end time and duration of the last pass */
	uint64_t opened_ns, lost;         /* time in ns at which the map was opened, and number of lost records */
	struct gpubpf_linux_record_info { /* describes records that have the size of the last record */
		uint32_t size;
		bool padded;  /* perf events have up to 7 bytes of padding */
		uint32_t own; /* bytes without padding */
		int32_t time; /* byte offset of the member with the time; -1: no member has one */
		int object;   /* index of the BPF object that defines the type */
	} record_info;
};

static inline const struct gpubpf_map *gpubpf_linux_get_map(const struct gpubpf_linux_synced_map *c)
{
	return &gpubpf_session_unit(c->s)->maps[c->map];
}

/* Iterate over the Linux map for merge.c: call `each`, which passes every element to `found`. */
int gpubpf_linux_kernel_each(struct gpubpf_linux_synced_map *c, gpubpf_linux_element_fn each,
			     gpubpf_merge_found_fn found, void *arg);
int gpubpf_linux_kernel_erase(void *side, const void *key);
/* Returns true if both GPU programs and Linux kernel programs pop values from the queue. */
bool gpubpf_linux_queue_is_split(const struct gpubpf_session *s, uint32_t map, bool kernel_pops);
/* Run one pass of c->merge, and report a note if one of the two maps is full. */
int gpubpf_linux_merge(struct gpubpf_linux_synced_map *c);

struct session_kernel_bpf {
	/* [nprogs] programs of each object; NULL: the object has no program for the Linux kernel */
	struct gpubpf_linux **progs;
	uint32_t nprogs;
	uint32_t nmaps;
	uint64_t next_ns, mirrors_ns; /* times of the next pass and of the next copy of mirrors */
	struct gpubpf_linux_heap waiting;
	struct gpubpf_linux_synced_map map[GPUBPF_MAX_MAPS]; /* [nmaps] */
};

/* Returns the session's data of this folder, which the first call creates. NULL: out of memory. */
struct session_kernel_bpf *gpubpf_kernel_bpf_get(struct gpubpf_session *s);
void gpubpf_linux_maps_close(struct gpubpf_session *s);
void gpubpf_linux_progs_close(struct gpubpf_session *s);

#endif
