/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions on the records of a ring (maps/kinds/ring.h), for the reader and for the agent. Both take records out of
 * rings on the host, and both must know which records have arrived. Headers are not trusted: no function reads beyond
 * the end that its caller passes.
 */
#ifndef GPUBPF_MAPS_RECORD_H
#define GPUBPF_MAPS_RECORD_H

#include <stdbool.h>

#include "ring.h"

/* Return the size in bytes of a segment, and of the space that follows each segment. */
static inline u64 gpubpf_ring_segment_bytes(const struct gpubpf_map_layout *l)
{
	return l->stride / GPUBPF_RING_SEGMENTS;
}

static inline u64 gpubpf_ring_room_bytes(const struct gpubpf_map_layout *l)
{
	return GPUBPF_RING_ROOM(l->stride, l->copy_stride);
}

static inline u64 gpubpf_ring_next_segment(u64 position)
{
	return (GPUBPF_RING_SEGMENT(position) + 1) % GPUBPF_RING_WRAP << GPUBPF_RING_SHIFT;
}

static inline u64 gpubpf_record_words(u64 header)
{
	return (GPUBPF_RING_EACH(header) + 7) / 8;
}

/* Return the size in bytes of a record or a batch, with its header. */
static inline u64 gpubpf_record_bytes(u64 header)
{
	u64 lanes = GPUBPF_RING_LANES(header), words = gpubpf_record_words(header);

	if (header & GPUBPF_RING_BATCH)
		return gpubpf_ring_batch_head(words, lanes) + 8 * words * lanes;
	return (((header & GPUBPF_RING_SIZE) + 7) & ~7ull) + 8;
}

static inline bool gpubpf_record_is_at(u64 header, u64 position)
{
	return (header & 0xffffffff00000000u) == gpubpf_ring_tag(position);
}

/*
 * Returns true if a record with this header fits into the space after a segment, and ends at or before `end`. It begins
 * at `offset` of its segment.
 */
static inline bool gpubpf_record_fits(u64 header, u64 offset, u64 room, u64 end)
{
	if ((header & GPUBPF_RING_BATCH) && GPUBPF_RING_EACH(header) > GPUBPF_RING_EACH_MAX)
		return false;
	return gpubpf_record_bytes(header) <= room && offset + gpubpf_record_bytes(header) <= end;
}

#define GPUBPF_RECORD_AHEAD 4096 /* prefetch distance in bytes; with prefetches, checking records is twice as fast */

/* Returns true if all n words of a batch have arrived. The first word is its header. */
static inline bool gpubpf_batch_arrived(const u64 *words, u64 n)
{
	u64 all[4] = { 1, 1, 1, 1 }, i;

	for (i = 1; i + 4 <= n; i += 4) {
		if (i % 8 == 1)
			__builtin_prefetch((const char *)(words + i) + GPUBPF_RECORD_AHEAD);
		all[0] &= words[i];
		all[1] &= words[i + 1];
		all[2] &= words[i + 2];
		all[3] &= words[i + 3];
	}
	for (; i < n; i++)
		all[0] &= words[i];
	return all[0] & all[1] & all[2] & all[3] & 1;
}

#endif
