/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RINGBUF, PERF_EVENT_ARRAY, GPU_RINGBUF and the print ring: streams of records to the host.
 *
 *   copies               Each copy is a ring. A lane writes to the ring of its multiprocessor. If this ring is full,
 *                        the lane tries the next GPUBPF_RING_TRIES - 1 rings. Each ring has the size of the map's
 *                        definition (RINGBUF: max_entries bytes, GPU_RINGBUF: max_entries records of value_size bytes).
 *                        If this needs too much memory, all rings together have this size
 *   stride               bytes of a ring, a power of two. A ring consists of GPUBPF_RING_SEGMENTS segments, which are
 *                        used in turn
 *   copy_stride          distance between rings in bytes. After each segment there is space for a record that begins
 *                        before the segment's end, so that no record is split. This space limits the size of a record
 *   ctl                  see GPUBPF_RING_COPY, GPUBPF_RING_CONS and GPUBPF_RING_BATCH_TAKEN in layout.h
 *
 * A position consists of the number of a segment, which wraps, and an offset in the segment. A lane claims memory with
 * one add to the producer's position. If the claimed range begins before the end of the segment, the lane owns it.
 * Otherwise the segment is full, and the add has claimed nothing. A lane that finds a segment full opens the next
 * segment, unless the reader is still in it. So the claims of several warps do not wait for each other. With
 * compare-exchange, a claim would wait for the claim before it, which takes 0.8 us per warp on an H200. If a ring is
 * full, records are dropped and counted: no lane waits for the reader.
 *
 * A record consists of an 8-byte header and its bytes, padded to 8. The lower half of the header has the size and the
 * flags BUSY and DISCARD, as in the ring buffer of the Linux kernel. The upper half is a tag, which depends on the
 * record's position. The reader accepts a record only if it is not busy and has the tag of its position. So the reader
 * never takes bytes of an earlier round for a record.
 *
 * On devices with warps, lanes that write records of the same size together share a header. Such a group of records is
 * a batch. Its header has the flag BATCH, the number of records minus 1, the size of a record minus 1, and
 * GPUBPF_RING_LOW bits. The bit words follow, and then the records. They are stored word by word: the first word of
 * each record, then the second word of each record, and so on.
 *
 * The lowest bit of each word in a batch is 1, so a word whose lowest bit is 0 has not arrived. The bit words contain
 * the original lowest bits of the records: 32 bits for each word of a record. If some lanes are missing, one more bit
 * word is the lane mask. The header contains the original lowest bits of the bit words. So a warp publishes a batch
 * without waiting for its own stores. Waiting would be slow. On an H200, vectorAdd with a 16-byte event per thread
 * would take 2.7 to 3.6 times as long as without probes, instead of 2.2 times.
 *
 * Free memory is zero: the agent clears it when it empties a device's ring (maps/host/mirror.c). If the reader and the
 * device share memory, as on CPU devices, there are no batches.
 */
#ifndef GPUBPF_MAPS_RING_H
#define GPUBPF_MAPS_RING_H

#include "maps/device/words.h"

#define GPUBPF_RING_BUSY 0x80000000ul
#define GPUBPF_RING_DISCARD 0x40000000ul
#define GPUBPF_RING_BATCH 0x20000000ul
#define GPUBPF_RING_SIZE 0x1ffffffful
#define GPUBPF_RING_FULL 0xfffffffffffffffful
#define GPUBPF_RING_TRIES 9          /* number of rings in which a lane tries to write a record before it drops it */
#define GPUBPF_RING_OPENS 64         /* number of full segments of a ring after which a lane tries another ring */

/* Fields of the header of a batch: the number of lanes, which is the number of records, and the size of a record. */
#define GPUBPF_RING_LANES(header) (((header) >> 24 & 31) + 1)
#define GPUBPF_RING_EACH(header) (((header) >> 16 & 255) + 1) /* bytes of a record */
#define GPUBPF_RING_LOW 16           /* number of bit words whose lowest bits the header contains */
#define GPUBPF_RING_EACH_MAX 240ul   /* bytes; limit of a record in a batch, so that 16 words hold all bit words */

/* Flags of bpf_ringbuf_query(), from uapi/linux/bpf.h. */
#define GPUBPF_RB_AVAIL_DATA 0
#define GPUBPF_RB_RING_SIZE 1
#define GPUBPF_RB_CONS_POS 2
#define GPUBPF_RB_PROD_POS 3

/*
 * Return the tag: the part of a header that depends on the record's position. It is never 0, so zeroed memory contains
 * no record.
 */
GPUBPF_FN u64 gpubpf_ring_tag(u64 position)
{
	return ((position + 8) * 0x9e3779b97f4a7c15ul | 1ul << 32) & 0xffffffff00000000ul;
}

GPUBPF_FN u64 gpubpf_ring_header_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 copy, u64 position)
{
	return env->arena + data + copy * copy_stride +
	       (GPUBPF_RING_SEGMENT(position) & (GPUBPF_RING_SEGMENTS - 1)) * (copy_stride / GPUBPF_RING_SEGMENTS) +
	       GPUBPF_RING_OFFSET(position);
}

/* Returns true if the position is after the end of its segment, so that a claim there has failed. */
GPUBPF_FN u32 gpubpf_ring_is_over(u64 position, u64 stride)
{
	return GPUBPF_RING_OFFSET(position) >= stride / GPUBPF_RING_SEGMENTS;
}

/* Returns true if the reader has left the segment that the next segment will overwrite. */
GPUBPF_FN u32 gpubpf_ring_next_free(u64 position, u64 cons)
{
	return (GPUBPF_RING_SEGMENT(position) + 1 - GPUBPF_RING_SEGMENT(cons)) % GPUBPF_RING_WRAP < GPUBPF_RING_SEGMENTS;
}

/* Open the segment after the full segment of position `seen`. If several lanes try, one of them opens it for all. */
GPUBPF_FN void gpubpf_ring_open(u64 prod, u64 seen)
{
	u64 next = ((GPUBPF_RING_SEGMENT(seen) + 1) % GPUBPF_RING_WRAP) << GPUBPF_RING_SHIFT, found;
	u32 tries;

	for (tries = 0; tries < 64; tries++) {
		found = gpubpf_cas_relaxed_u64(prod, seen, next);
		if (GPUBPF_RING_SEGMENT(found) != GPUBPF_RING_SEGMENT(seen) || found == seen)
			break;
		seen = found;
	}
}

/* Claim `bytes` bytes of one ring. Returns their position, or GPUBPF_RING_FULL. */
GPUBPF_FN u64 gpubpf_ring_claim_in(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 copy, u64 bytes)
{
	u64 prod = env->arena + GPUBPF_RING_COPY(ctl, copy), position;
	u32 tries;

	for (tries = 0; tries < GPUBPF_RING_OPENS; tries++) {
		position = gpubpf_load_u64(prod);
		if (gpubpf_ring_is_over(position, stride)) {
			if (!gpubpf_ring_next_free(position,
						   gpubpf_load_u64(env->arena + GPUBPF_RING_CONS(ctl, copies, copy))))
				break;
			gpubpf_fence(); /* orders later stores to the segment after the reader's loads from it */
			gpubpf_ring_open(prod, position);
		}
		position = gpubpf_fetch_add_relaxed_u64(prod, bytes);
		if (!gpubpf_ring_is_over(position, stride))
			return position;
	}
	return GPUBPF_RING_FULL;
}

/*
 * Claim bytes after the claim at `position` failed, because the segment was full: open the next segment of this ring,
 * or use another ring. If all tried rings are full, lanes do not try again until the reader has freed memory.
 */
GPUBPF_FN u64 gpubpf_ring_claim_slow(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u32 *where, u64 bytes, u64 position)
{
	u64 prod = env->arena + GPUBPF_RING_COPY(ctl, *where);
	u64 left = gpubpf_load_u64(env->arena + GPUBPF_RING_FREED(ctl, copies)) + 1;
	u32 copy = *where, tries;

	/*
	 * Minutes of repeated adds to a full segment would overflow into the segment's number. So lower the position
	 * before that.
	 */
	if (GPUBPF_RING_OFFSET(position) >> (GPUBPF_RING_SHIFT - 2))
		gpubpf_cas_relaxed_u64(prod, position + bytes, position - (1ul << (GPUBPF_RING_SHIFT - 2)));
	if (gpubpf_load_u64(prod + 16) == left)
		return GPUBPF_RING_FULL;
	for (tries = 0; tries < copies && tries < GPUBPF_RING_TRIES; tries++) {
		*where = copy + tries < copies ? copy + tries : copy + tries - copies;
		position = gpubpf_ring_claim_in(env, GPUBPF_MAP_PASS, *where, bytes);
		if (position != GPUBPF_RING_FULL)
			return position;
	}
	gpubpf_store_u64(prod + 16, left);
	return GPUBPF_RING_FULL;
}

/*
 * Claim `bytes` bytes in one of the rings. Returns the address of the header and stores its position. Returns 0 if all
 * tried rings are full.
 */
GPUBPF_FN u64 gpubpf_ring_claim(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 bytes, GPUBPF_PRIVATE u64 *position)
{
	u32 copy = gpubpf_copy_of(copies);

	*position = gpubpf_fetch_add_relaxed_u64(env->arena + GPUBPF_RING_COPY(ctl, copy), bytes);
	if (gpubpf_ring_is_over(*position, stride))
		*position = gpubpf_ring_claim_slow(env, GPUBPF_MAP_PASS, &copy, bytes, *position);
	return *position == GPUBPF_RING_FULL ? 0 : gpubpf_ring_header_at(env, GPUBPF_MAP_PASS, copy, *position);
}

GPUBPF_FN u64 gpubpf_ring_drops_at(GPUBPF_ENV, GPUBPF_MAP_ARGS)
{
	return env->arena + GPUBPF_RING_COPY(ctl, gpubpf_copy_of(copies)) + 8;
}

/*
 * Claim memory for a record of `size` bytes. Returns the address of its header and stores its position. On failure,
 * counts a drop and returns 0.
 */
GPUBPF_FN u64 gpubpf_ring_record(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 size, GPUBPF_PRIVATE u64 *position)
{
	u32 fits = size <= GPUBPF_RING_ROOM(stride, copy_stride) - 8 && (value_size == 0 || size <= value_size);
	u64 header = fits ? gpubpf_ring_claim(env, GPUBPF_MAP_PASS, ((size + 7) & ~7ul) + 8, position) : 0;

	if (!header)
		gpubpf_count(gpubpf_ring_drops_at(env, GPUBPF_MAP_PASS));
	return header;
}

GPUBPF_FN s64 gpubpf_ring_refusal(u32 map_flags)
{
	return map_flags & GPUBPF_LAYOUT_PERF ? -GPUBPF_ENOSPC : -GPUBPF_EAGAIN;
}

GPUBPF_FN s64 gpubpf_ring_single(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u64 size)
{
	u64 position, header = gpubpf_ring_record(env, GPUBPF_MAP_PASS, size, &position);

	if (!header)
		return gpubpf_ring_refusal(map_flags);
	gpubpf_copy_in(header + 8, data_, size);
	gpubpf_store_release_u64(header, gpubpf_ring_tag(position) | size);
	return 0;
}

/* Return the size in bytes of a batch's header and bit words, for records of `words` words. */
GPUBPF_FN u32 gpubpf_ring_batch_head(u32 words, u32 lanes)
{
	return 8 + 8 * ((words + (lanes < 32) + 1) / 2);
}

#ifdef GPUBPF_HAS_WARP
/*
 * Write the header and the bit words of a batch. Only the first lane calls this function. The bit words contain the
 * original lowest bits of the records' words.
 */
GPUBPF_FN void gpubpf_ring_batch_bits(u64 at, u64 position, u32 lanes, GPUBPF_PRIVATE const u32 *bits, u32 words, u32 size)
{
	u32 n = gpubpf_warp_count(lanes), i;
	u64 header = gpubpf_ring_tag(position) | GPUBPF_RING_BATCH | (n - 1) << 24 | (size - 1) << 16;

	for (i = 0; i <= words; i += 2) {
		u64 low = i < words ? bits[i] : lanes, high = i + 1 < words ? bits[i + 1] : i < words ? lanes : 0;

		if (i == words && n == 32)
			break;
		header |= (low & 1) << (i / 2);
		gpubpf_store_u64(at + 8 + 4 * i, low | high << 32 | 1);
	}
	gpubpf_store_u64(at, header);
}

/*
 * Claim memory for a batch after the claim at `position` failed. All lanes get the same ring and position. If the
 * result is GPUBPF_RING_FULL, the drops are already counted.
 */
GPUBPF_FN u64 gpubpf_ring_batch_slow(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 lanes, u32 rank, u64 bytes, u64 position,
				     GPUBPF_PRIVATE u32 *copy)
{
	u32 first = gpubpf_warp_first(lanes);

	if (rank == 0)
		position = gpubpf_ring_claim_slow(env, GPUBPF_MAP_PASS, copy, bytes, position);
	if (rank == 0 && position == GPUBPF_RING_FULL)
		gpubpf_add_u64(gpubpf_ring_drops_at(env, GPUBPF_MAP_PASS), gpubpf_warp_count(lanes));
	*copy = (u32)gpubpf_warp_from(lanes, *copy, first);
	return gpubpf_warp_from(lanes, position, first);
}

/*
 * Write a batch with one record per lane. Between the add and the first use of its result is code that does not need
 * the position, to hide the latency of the add.
 */
GPUBPF_FN s64 gpubpf_ring_batch_of(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 lanes, u32 rank, GPUBPF_PRIVATE const u8 *data_,
				   u32 size)
{
	u32 n = gpubpf_warp_count(lanes), words = (size + 7) / 8, head = gpubpf_ring_batch_head(words, n), bits[32], i;
	u32 copy = gpubpf_copy_of(copies);
	u64 at, position = 0, bytes = head + 8 * words * n;

	if (rank == 0)
		position = gpubpf_fetch_add_relaxed_u64(env->arena + GPUBPF_RING_COPY(ctl, copy), bytes);
	for (i = 0; i < words; i++)
		bits[i] = gpubpf_warp_ballot(lanes, gpubpf_word(data_ + 8 * i, size - 8 * i) & 1);
	position = gpubpf_warp_from(lanes, position, gpubpf_warp_first(lanes));
	if (gpubpf_ring_is_over(position, stride))
		position = gpubpf_ring_batch_slow(env, GPUBPF_MAP_PASS, lanes, rank, bytes, position, &copy);
	if (position == GPUBPF_RING_FULL)
		return gpubpf_ring_refusal(map_flags);
	at = gpubpf_ring_header_at(env, GPUBPF_MAP_PASS, copy, position);
	for (i = 0; i < words; i++)
		gpubpf_store_u64(at + head + 8 * (i * n + rank), gpubpf_word(data_ + 8 * i, size - 8 * i) | 1);
	if (rank == 0)
		gpubpf_ring_batch_bits(at, position, lanes, bits, words, size);
	return 0;
}

/*
 * Write a batch with one record per active lane. Full warps have separate code, because ptxas checks convergence at
 * each operation if the lane mask is not a constant.
 */
GPUBPF_FN s64 gpubpf_ring_batch(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u32 size)
{
	u32 lanes = gpubpf_warp_active(), lane = gpubpf_lane();

	if (lanes == 0xffffffffu)
		return gpubpf_ring_batch_of(env, GPUBPF_MAP_PASS, 0xffffffffu, lane, data_, size);
	return gpubpf_ring_batch_of(env, GPUBPF_MAP_PASS, lanes, gpubpf_warp_count(lanes & ((1u << lane) - 1)), data_,
				    size);
}
#endif

GPUBPF_FN s64 gpubpf_ring_output(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u64 size)
{
#ifdef GPUBPF_HAS_WARP
	/* The condition is equal in all lanes: 32 records and their header fit into the space after a segment. */
	if (__builtin_constant_p(size) && size > 0 && size <= GPUBPF_RING_EACH_MAX &&
	    (value_size == 0 || size <= value_size) &&
	    gpubpf_ring_batch_head((size + 7) / 8, 1) + 32 * ((size + 7) & ~7ul) <= GPUBPF_RING_ROOM(stride, copy_stride))
		return gpubpf_ring_batch(env, GPUBPF_MAP_PASS, data_, (u32)size);
#endif
	return gpubpf_ring_single(env, GPUBPF_MAP_PASS, data_, size);
}

GPUBPF_FN u64 gpubpf_ring_reserve(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 size)
{
	u64 position, header = gpubpf_ring_record(env, GPUBPF_MAP_PASS, size, &position);

	if (!header)
		return 0;
	gpubpf_store_u64(header, gpubpf_ring_tag(position) | GPUBPF_RING_BUSY | size);
	return header + 8;
}

GPUBPF_FN void gpubpf_helper_ringbuf_submit(GPUBPF_ENV, u64 record, u64 flags)
{
	gpubpf_store_release_u64(record - 8, gpubpf_load_u64(record - 8) & ~GPUBPF_RING_BUSY);
}

GPUBPF_FN void gpubpf_helper_ringbuf_discard(GPUBPF_ENV, u64 record, u64 flags)
{
	gpubpf_store_release_u64(record - 8, (gpubpf_load_u64(record - 8) & ~GPUBPF_RING_BUSY) | GPUBPF_RING_DISCARD);
}

/* Return the number of bytes before a position, in all segments. */
GPUBPF_FN u64 gpubpf_ring_bytes(u64 position, u64 stride)
{
	u64 offset = GPUBPF_RING_OFFSET(position), segment = stride / GPUBPF_RING_SEGMENTS;

	return GPUBPF_RING_SEGMENT(position) * segment + (offset < segment ? offset : segment);
}

GPUBPF_FN s64 gpubpf_ring_query(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 flags)
{
	u32 copy = gpubpf_copy_of(copies);
	u64 prod = gpubpf_ring_bytes(gpubpf_load_u64(env->arena + GPUBPF_RING_COPY(ctl, copy)), stride);
	u64 cons = gpubpf_ring_bytes(gpubpf_load_u64(env->arena + GPUBPF_RING_CONS(ctl, copies, copy)), stride);

	return flags == GPUBPF_RB_AVAIL_DATA ? (s64)(prod - cons) :
	       flags == GPUBPF_RB_RING_SIZE  ? (s64)stride :
	       flags == GPUBPF_RB_CONS_POS   ? (s64)cons :
	       flags == GPUBPF_RB_PROD_POS   ? (s64)prod :
					       0;
}

#endif
