/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates the mirror of an arena, its copy in host memory, from the arena in a device's memory. Each word has one
 * writer: the device, the agent or the reader (the tool, in another process).
 *
 * Maps are copied unchanged. Rings are emptied: the agent copies new records of the device to the same offsets of the
 * mirror's ring. In the mirror, the agent advances the producer's position, and the reader advances the consumer's
 * position. In the device's ring, the agent advances the consumer's position, which frees memory for the device. So a
 * ring and its mirror together hold twice the size of the ring. A slow or killed reader blocks the device only when
 * both are full.
 *
 * Memory that the agent frees for the device is zero. So the words of a record show whether it has arrived
 * (maps/kinds/ring.h), and the agent can empty rings while GPU kernels run. This file is part of the agent, so it uses
 * only libc.
 */
#ifndef GPUBPF_MAPS_MIRROR_H
#define GPUBPF_MAPS_MIRROR_H

#include <stdbool.h>

#include "maps/layout.h"

/*
 * Functions of the device's runtime that copy bytes. They return 0 or -errno. The pulls that one thread starts complete
 * in order, at the latest when its next wait() returns. Pushes and zeros complete in order, at the latest when wait()
 * with `all` returns.
 */
struct gpubpf_mirror {
	void *arena; /* the mirror: the copy of the arena in host memory */
	u64 size;    /* bytes of the arena that are in device memory; maps after them are not copied */
	void *arg;
	int (*pull)(void *arg, u64 offset, void *to, u64 size);
	int (*push)(void *arg, u64 offset, const void *from, u64 size);
	int (*zero)(void *arg, u64 offset, u64 size);
	int (*wait)(void *arg, bool all);
	/*
	 * Returns true if all GPU kernels that began before the call have ended. The call may wait for them. If the
	 * result is false, the caller must check every word of the new records, which have `bytes` bytes.
	 */
	bool (*have_kernels_ended)(void *arg, u64 bytes);
	/*
	 * Call work(on) in several threads at once, and return when all calls have returned. `parts` is the number of
	 * parts of the work, which suggests the number of threads. All these threads may call the functions above.
	 * NULL: use one thread.
	 */
	void (*run)(void *arg, u64 parts, void (*work)(void *on), void *on);
	/* bytes that a thread moves before it publishes the result to the reader and the device; 0: 4 MiB */
	u64 at_once;
};

#define GPUBPF_MIRROR_THREADS 8
#define GPUBPF_MIRROR_MAX_THREADS 32 /* limit of the number of threads that a user can request */

/*
 * Return the number of threads that move records, for `parts` parts of work. Several threads help because checking
 * records takes longer than copying them. The limit is `requested`, the user's number. If it is 0, the limit is half of
 * all processors, at most GPUBPF_MIRROR_THREADS.
 */
static inline u64 gpubpf_mirror_threads(u64 parts, u64 processors, u64 requested)
{
	u64 limit = processors / 2 < GPUBPF_MIRROR_THREADS ? processors / 2 : GPUBPF_MIRROR_THREADS, n = parts / 2;

	limit = requested ? requested : limit;
	n = n < limit ? n : limit;
	return n ? n : 1;
}

/*
 * Find the first ring at or after row *row of the arena's table of layouts. Stores the location of its records in
 * *offset and *size, and sets *row to the next row. Returns false if there is no further ring.
 */
bool gpubpf_mirror_next_ring(const struct gpubpf_mirror *m, u32 *row, u64 *offset, u64 *size);
/* Returns true if the arena has maps that gpubpf_mirror_drain() copies: rings, or maps of launches. */
bool gpubpf_mirror_is_drained(const struct gpubpf_mirror *m);
/* Copy all maps except rings from the device to the mirror. Returns 0 or -errno. */
int gpubpf_mirror_pull(const struct gpubpf_mirror *m);
/*
 * Move the records of all rings to the mirror, and copy new rows of launches. Returns the number of bytes, or -errno. Stores in *left the number
 * of bytes that stay on the device, because the mirror is full or a record has not arrived completely.
 */
s64 gpubpf_mirror_drain(const struct gpubpf_mirror *m, u64 *left);

#endif
