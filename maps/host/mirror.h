/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena in a device's memory and its mirror on the host. Each word has one writer: the device, the agent or the
 * reader (the tool, in another process). Maps are copied unchanged. Rings are emptied: the agent copies new records of
 * the device to the same offsets of the mirror's ring. In the mirror, the agent advances the producer's position, and
 * the reader advances the consumer's position. The agent writes the consumer's position of the device's ring, which
 * frees room for the device. So a ring and its mirror together hold twice the ring's size. A slow or killed reader
 * blocks the device only when both are full.
 *
 * Memory that the agent frees for the device is zero. Therefore a record's own words say whether it has arrived
 * (maps/kinds/ring.h), and the agent can empty rings while kernels run. This file is part of the agent: libc only.
 */
#ifndef GPUBPF_MAPS_MIRROR_H
#define GPUBPF_MAPS_MIRROR_H

#include <stdbool.h>

#include "maps/layout.h"

/*
 * Functions that copy bytes; they return 0 or -errno. The pulls of a thread complete in order, at the latest when its
 * wait() returns. Pushes and zeros complete in order, at the latest when wait() with `all` returns.
 */
struct gpubpf_mirror {
	void *arena; /* the mirror: the arena's memory on the host */
	u64 size;    /* bytes of the arena that the device has; maps after them are not copied */
	void *arg;
	int (*pull)(void *arg, u64 offset, void *to, u64 size);
	int (*push)(void *arg, u64 offset, const void *from, u64 size);
	int (*zero)(void *arg, u64 offset, u64 size);
	int (*wait)(void *arg, bool all);
	/*
	 * Have all kernels ended that began before this call? The answer may cost time; `bytes` is the amount of
	 * records that the caller must check word by word if it is false.
	 */
	bool (*have_kernels_ended)(void *arg, u64 bytes);
	/*
	 * Call work(on) in several threads at once, with as many as `parts` parts of work justify, and return when all
	 * calls have returned. All threads may call the functions above. NULL: work in one thread.
	 */
	void (*run)(void *arg, u64 parts, void (*work)(void *on), void *on);
	/* number of bytes that one thread moves before the reader and the device see the result; 0: 4 MiB */
	u64 at_once;
};

#define GPUBPF_MIRROR_THREADS 8
#define GPUBPF_MIRROR_MAX_THREADS 32 /* maximum number of threads that a user can request */

/*
 * Return the number of threads that check records, for `parts` parts of work; checking takes a processor longer than
 * copying. The limit is half of all processors, at most GPUBPF_MIRROR_THREADS, or the number that the user requested
 * (not 0).
 */
static inline u64 gpubpf_mirror_threads(u64 parts, u64 processors, u64 requested)
{
	u64 limit = processors / 2 < GPUBPF_MIRROR_THREADS ? processors / 2 : GPUBPF_MIRROR_THREADS, n = parts / 2;

	limit = requested ? requested : limit;
	n = n < limit ? n : limit;
	return n ? n : 1;
}

/*
 * Find the records of the first ring at or after row *row of the arena's table, and set *row to the row after it.
 * Returns false if there is no further ring.
 */
bool gpubpf_mirror_next_ring(const struct gpubpf_mirror *m, u32 *row, u64 *offset, u64 *size);
/* Update all maps of the mirror except rings. */
int gpubpf_mirror_pull(const struct gpubpf_mirror *m);
/*
 * Empty all rings. Returns the number of bytes moved, or -errno. *left: bytes for which the mirror had no room, or
 * which have not arrived completely.
 */
s64 gpubpf_mirror_drain(const struct gpubpf_mirror *m, u64 *left);

#endif
