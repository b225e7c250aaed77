/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives access to the values and records in the Linux map of a synchronized map. The folder kernel_bpf installs the
 * functions with gpubpf_maps_set_synced_ops(). Before that, the functions find no values and no records.
 */
#ifndef GPUBPF_SESSION_SYNCED_H
#define GPUBPF_SESSION_SYNCED_H

#include "core/session/session.h"

#define GPUBPF_LINUX_BACKEND "linux"   /* `backend` of records that Linux kernel programs wrote */

/* The implementations of the functions below. Each has the function's name without gpubpf_linux_. */
struct gpubpf_synced_ops {
	bool (*maps_is_synced)(const struct gpubpf_session *s, uint32_t map);
	int (*queue_next)(const struct gpubpf_session *s, uint32_t map, bool take, void *value);
	size_t (*cpus_size)(const struct gpubpf_session *s, uint32_t map);
	int (*cpus_lookup)(const struct gpubpf_session *s, uint32_t map, const void *key, void *values);
	int (*cpus_update)(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values);
	int (*cpus_delete)(const struct gpubpf_session *s, uint32_t map, const void *key);
	bool (*rings_queue)(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data,
			    uint32_t size);
	uint64_t (*rings_deliver)(struct gpubpf_session *s, bool all);
	bool (*rings_has_room)(const struct gpubpf_session *s, uint32_t map);
	uint64_t (*rings_lost)(const struct gpubpf_session *s, uint32_t map);
};

/*
 * Returns the bytes of the values of all CPUs for one key; 0: the map has no such values. In look-ups they follow the
 * values of arena 0.
 */
size_t gpubpf_linux_cpus_size(const struct gpubpf_session *s, uint32_t map);
/* Operations of bpf(2) on the values of all CPUs. They return 0 for a map without such values. */
int gpubpf_linux_cpus_lookup(const struct gpubpf_session *s, uint32_t map, const void *key, void *values);
int gpubpf_linux_cpus_update(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values);
int gpubpf_linux_cpus_delete(const struct gpubpf_session *s, uint32_t map, const void *key);

/* Returns true if the map is synchronized with a separate Linux map, and not suspended. */
bool gpubpf_linux_maps_is_synced(const struct gpubpf_session *s, uint32_t map);
/*
 * Peek (or pop, if `take` is set) the next value of a queue or stack whose values are in the Linux map, because Linux
 * kernel programs pop them. Returns 0 or an error of bpf(2). -EOPNOTSUPP: the values are in the session's arenas.
 */
int gpubpf_linux_queue_next(const struct gpubpf_session *s, uint32_t map, bool take, void *value);

/*
 * Queue a record of a synchronized ring, to deliver it in order of time. Returns false if the ring is not synchronized.
 */
bool gpubpf_linux_rings_queue(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data,
			      uint32_t size);
/* Returns true if more records of the map can be queued. Only a loader that reads too slowly limits them. */
bool gpubpf_linux_rings_has_room(const struct gpubpf_session *s, uint32_t map);
/*
 * Read the records of Linux kernel programs. Then deliver the records that have waited long enough; all: deliver all
 * records. Returns the number of delivered records.
 */
uint64_t gpubpf_linux_rings_deliver(struct gpubpf_session *s, bool all);
/* Returns the number of the map's records that were lost because they did not fit. */
uint64_t gpubpf_linux_rings_lost(const struct gpubpf_session *s, uint32_t map);

/* A record of a synchronized ring. */
struct gpubpf_linux_record {
	uint64_t time, number; /* time in ns (CLOCK_MONOTONIC), and position in the order in which records were read */
	uint32_t map;
	int arena;           /* index of the arena; -1: a Linux kernel program wrote the record */
	uint32_t copy, size; /* number of the multiprocessor or CPU, and bytes of data */
	uint8_t data[];
};

#endif
