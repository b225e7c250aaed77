/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes maps. Linux kernel programs and GPU programs each have a map, and the session copies changes between the
 * two (docs/reference/maps.md). Each kind of map has its file.
 *
 *   kernel_maps.c    decides which maps are synchronized, and when
 *   sides.c          maps with one value per key
 *   percpu.c         maps with one value per CPU or multiprocessor
 *   queue.c          queues and stacks
 *   ring.c           records of ring buffers and perf event arrays
 */
#ifndef GPUBPF_SESSION_LINUX_MAPS_H
#define GPUBPF_SESSION_LINUX_MAPS_H

#include "core/session/maps/synced.h"
#include "core/session/session.h"

#define GPUBPF_LINUX_PASS_NS 10000000u /* period of synchronization passes; longer if a pass takes long */
#define GPUBPF_LINUX_RECORD_WAIT_NS 50000000u /* time that a record waits for records with an earlier time, in ns */

#define GPUBPF_LINUX_NOT_SHARED "map %s is not shared: Linux kernel programs and GPU programs use separate maps: %s"
#define GPUBPF_LINUX_BOTH_TAKE "programs of both sides take values out"

/*
 * Start to synchronize a map of the session with the Linux map `fd`. The caller keeps fd open while the maps are
 * synchronized. The session must have its first arena. kernel_pops: Linux kernel programs pop values from the queue.
 * Returns NULL, or why the maps cannot be synchronized.
 */
const char *gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd, bool kernel_pops);
/* Returns why maps of this kind are never synchronized, or NULL if they can be. */
const char *gpubpf_linux_maps_why_never(const struct gpubpf_map *map);
/*
 * Suspend synchronization of the map, because no Linux kernel program uses it (suspended is true), or resume it
 * (false).
 */
void gpubpf_linux_maps_suspend(struct gpubpf_session *s, uint32_t map, bool suspended);
/*
 * Synchronize the map at this key. If key is NULL, synchronize all keys, unless that takes long. Call it before a read
 * and after a write.
 */
void gpubpf_linux_maps_sync(struct gpubpf_session *s, uint32_t map, const void *key);
bool gpubpf_linux_maps_is_active(const struct gpubpf_session *s); /* is any map synchronized and not suspended? */
void gpubpf_linux_maps_pass(struct gpubpf_session *s); /* run a pass now: before a read, and when the session stops */
void gpubpf_linux_maps_poll(struct gpubpf_session *s); /* run a pass if one is due */
/*
 * Returns true if devices with their own memory have synchronized maps, so that mirrors must be copied. Returns true at
 * most once per period.
 */
bool gpubpf_linux_maps_need_mirrors(struct gpubpf_session *s);

/*
 * Move the values of the queue to the Linux map from now on, because a Linux kernel program that pops them was loaded.
 */
void gpubpf_linux_queue_reverse(struct gpubpf_session *s, uint32_t map);

/* Read all rings now, and deliver to loaders all records that the rings hold. */
void gpubpf_linux_rings_flush(struct gpubpf_session *s);

/*
 * Implemented in progs.c. Load the programs for the Linux kernel. Returns 0 or -ENOMEM. Afterwards some maps of the
 * unit may be arrays in the Linux kernel's memory.
 */
int gpubpf_linux_progs_load(struct gpubpf_session *s);
/* synchronize the maps of these programs that are not in shared memory (kernel_maps.c) */
void gpubpf_linux_progs_sync_maps(struct gpubpf_session *s);
void gpubpf_linux_progs_attach(struct gpubpf_session *s);
void gpubpf_linux_progs_detach(struct gpubpf_session *s);

/* Close the maps, destroy the programs and free the object. */
void gpubpf_kernel_bpf_destroy(struct gpubpf_session *s);

#endif
