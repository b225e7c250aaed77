/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena in a device's memory and its mirror on the host. Each word has one writer: the device, the agent or the
 * reader (the tool, in another process). Maps are copied as they are. Rings are emptied: records that the device wrote
 * since the last time are copied to the same offsets of the mirror's ring. There the producer's position says how far
 * that has come (agent), and the consumer's what was read (reader); the consumer's position of the device's own ring
 * says what it may write to again (agent). So a ring and its mirror together hold twice its size, and a reader that is
 * slow, or was killed, holds up the device only when both are full.
 *
 * What the device may write to again is zero: then a record's own words say whether it has arrived (maps/ring.h), and
 * rings can be emptied while kernels run. For the agent: libc only.
 */
#ifndef GPUBPF_MAPS_MIRROR_H
#define GPUBPF_MAPS_MIRROR_H

#include <stdbool.h>

#include "layout.h"

/* How bytes are copied; 0 or -errno. Pulls of a thread are done in their order and when its wait() has returned, pushes and
 * zeros in theirs, when it was called for all. */
struct gpubpf_mirror {
	void *arena;           /* the mirror */
	u64 size;              /* of what the device has: segments behind it are left alone */
	void *arg;
	int (*pull)(void *arg, u64 offset, void *to, u64 size);
	int (*push)(void *arg, u64 offset, const void *from, u64 size);
	int (*zero)(void *arg, u64 offset, u64 size);
	int (*wait)(void *arg, bool all);
	/* Has all ended that had begun when it was called? Asked about so many bytes of records, which are
	 * looked through if it has not. */
	bool (*still)(void *arg, u64 bytes);
	/* Call work(on) in several threads at once, of which `parts` have something to do, and return when all of them
	 * have; NULL: there is but one. The functions above may then be called by all of them. */
	void (*run)(void *arg, u64 parts, void (*work)(void *on), void *on);
	u64 at_once;           /* bytes that one of them moves before the reader and the device have them; 0: 4 MiB */
};

#define GPUBPF_MIRROR_THREADS 8
#define GPUBPF_MIRROR_THREADS_MOST 32 /* that can be asked for */

/* In how many threads records are looked through, which takes a processor longer than copying them: the more has come since
 * the last time, the more; half of all processors at most, or as many as are asked for. */
static inline u64 gpubpf_mirror_threads(u64 parts, u64 processors, u64 asked)
{
	u64 most = processors / 2 < GPUBPF_MIRROR_THREADS ? processors / 2 : GPUBPF_MIRROR_THREADS, n = parts / 2;

	most = asked ? asked : most;
	n = n < most ? n : most;
	return n ? n : 1;
}

/* Where the records of a ring lie: of the first at or behind the arena's *row, which becomes the row behind it. */
bool gpubpf_mirror_next_ring(const struct gpubpf_mirror *m, u32 *row, u64 *offset, u64 *size);
/* Bring all maps of the mirror but rings up to date. */
int gpubpf_mirror_pull(const struct gpubpf_mirror *m);
/* Empty rings. Bytes moved, or -errno; *left: bytes that the mirror had no room for, or that have not all arrived. */
s64 gpubpf_mirror_drain(const struct gpubpf_mirror *m, u64 *left);

#endif
