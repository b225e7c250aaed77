/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Linux kernel's side of synchronized maps: its values and records. core/session/kernel_bpf sets
 * session->synced_ops when it synchronizes the first map; until then these functions find nothing.
 */
#ifndef GPUBPF_SESSION_SYNCED_H
#define GPUBPF_SESSION_SYNCED_H

#include "core/session/session.h"

#define GPUBPF_LINUX_BACKEND "linux"   /* `backend` of records from kernel programs; other records name a runtime */

/* The implementations of the functions below, which have the same names. */
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

/* Bytes of the values of the kernel's CPUs for one key, 0: none. In look-ups they follow the values of arena 0. */
size_t gpubpf_linux_cpus_size(const struct gpubpf_session *s, uint32_t map);
/* bpf(2)'s operations on these values; 0 for a map without such values */
int gpubpf_linux_cpus_lookup(const struct gpubpf_session *s, uint32_t map, const void *key, void *values);
int gpubpf_linux_cpus_update(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values);
int gpubpf_linux_cpus_delete(const struct gpubpf_session *s, uint32_t map, const void *key);

/* Is the map synchronized with a separate map of the Linux kernel, and not suspended? */
bool gpubpf_linux_maps_is_synced(const struct gpubpf_session *s, uint32_t map);
/* Peek or pop the next value of a queue or stack whose values are on the kernel's side, because kernel programs pop
 * them. 0 or bpf(2)'s errors. -EOPNOTSUPP: the values are in the session's arenas. */
int gpubpf_linux_queue_next(const struct gpubpf_session *s, uint32_t map, bool take, void *value);

/* Queue a record of a synchronized ring, to deliver it in order of time. False: the ring is not synchronized. */
bool gpubpf_linux_rings_queue(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data,
			      uint32_t size);
/* Can more records of the map be queued? Only a slow loader limits them. */
bool gpubpf_linux_rings_has_room(const struct gpubpf_session *s, uint32_t map);
/* Read the kernel's records, and deliver the records that have waited long enough, or all. Returns the number
 * delivered. */
uint64_t gpubpf_linux_rings_deliver(struct gpubpf_session *s, bool all);
/* The number of records of the map that found no room. */
uint64_t gpubpf_linux_rings_lost(const struct gpubpf_session *s, uint32_t map);

/* A record of a synchronized ring. */
struct gpubpf_linux_record {
	uint64_t time, number; /* time: CLOCK_MONOTONIC, in ns; number: order in which records were read */
	uint32_t map;
	int arena;           /* index of the arena; -1: a kernel program wrote it */
	uint32_t copy, size; /* copy: multiprocessor, or CPU */
	uint8_t data[];
};

#endif
