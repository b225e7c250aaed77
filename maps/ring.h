/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RINGBUF, PERF_EVENT_ARRAY, GPU_RINGBUF and the print ring: streams of records to the host.
 *
 *   copies               a ring each; a lane writes to that of its multiprocessor and, when that is full, to
 *                        one of the next GPUBPF_RING_TRIES - 1. Each copy has the room that the map's
 *                        definition asks for (RINGBUF: max_entries bytes, GPU_RINGBUF: max_entries records
 *                        of value_size); where that would be too much memory all of them together have it
 *   stride               bytes of a ring, a power of two: GPUBPF_RING_SEGMENTS segments, used in turn
 *   copy_stride          from ring to ring; each segment is followed by room for the record that begins
 *                        before its end, so no record is ever split, and bounds a record's size
 *   ctl                  see GPUBPF_RING_COPY, GPUBPF_RING_CONS and GPUBPF_RING_PART in layout.h
 *
 * A position is the number of a segment (it wraps) and an offset in it. A lane claims room with one add to the
 * producer's position: what it got begins before the segment's end, or the segment is full. Then nothing that
 * others add there is granted any more, and whoever finds it so opens the next segment, unless the reader is
 * still in it. So claims of many warps follow each other without a round trip (with compare-exchange each would
 * wait for the one before: 0.8 us a warp on an H200). A full ring drops and counts: no lane waits for the reader.
 *
 * A record is an 8-byte header and its bytes, padded to 8. Header: low half the size with BUSY and
 * DISCARD (as in the kernel's ring buffer), high half a tag made of the record's position. The reader takes what
 * carries the tag of its position and is not busy, so it cannot take bytes of an earlier round for a record.
 *
 * Where there are warps, lanes that put out as many bytes together share a header: a batch. Its header has the
 * flag BATCH, the number of records less 1, their size less 1, and GPUBPF_RING_LOW bits (below). Then come
 * words of bits, and then the records, word by word: the first of all, the second of all, ... Each word
 * carries a 1 in its lowest bit and the bits that were there stand in the words of bits, one of 32 bits for each
 * word of a record and one with the lanes' mask if lanes are missing; the lowest bits of these words stand in
 * the header. So a word whose lowest bit is 0 has not arrived, and a warp publishes its batch without waiting for
 * its own stores: waiting makes vectorAdd with a 16-byte event a thread take 2.7 to 3.6 times as long as without,
 * instead of 2.2, on an H200. (Free memory is zero: whoever empties a ring that a device writes to, maps/mirror.c, sees to it.
 * Where reader and device share memory, as CPU devices, there are no batches.)
 */
#ifndef GPUBPF_MAPS_RING_H
#define GPUBPF_MAPS_RING_H

#include "words.h"

#define GPUBPF_RING_BUSY 0x80000000ul
#define GPUBPF_RING_DISCARD 0x40000000ul
#define GPUBPF_RING_BATCH 0x20000000ul
#define GPUBPF_RING_SIZE 0x1ffffffful
#define GPUBPF_RING_FULL 0xfffffffffffffffful
#define GPUBPF_RING_TRIES 9          /* rings that a lane tries before it drops a record */
#define GPUBPF_RING_OPENS 64         /* segments that a lane finds full before it gives a ring up */

/* batches */
#define GPUBPF_RING_LANES(header) (((header) >> 24 & 31) + 1)
#define GPUBPF_RING_EACH(header) (((header) >> 16 & 255) + 1) /* bytes of a record */
#define GPUBPF_RING_LOW 16           /* low bits of words of bits that a header has place for */
#define GPUBPF_RING_EACH_MAX 240ul   /* 30 words of bits and the mask: 16 words of 64 */

/* uapi/linux/bpf.h: bpf_ringbuf_query() */
#define GPUBPF_RB_AVAIL_DATA 0
#define GPUBPF_RB_RING_SIZE 1
#define GPUBPF_RB_CONS_POS 2
#define GPUBPF_RB_PROD_POS 3

/* never 0, so that fresh memory holds no record */
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

/* Nothing is granted from there on. */
GPUBPF_FN u32 gpubpf_ring_is_over(u64 position, u64 stride)
{
	return GPUBPF_RING_OFFSET(position) >= stride / GPUBPF_RING_SEGMENTS;
}

/* Has the reader left the segment after that of `position`? */
GPUBPF_FN u32 gpubpf_ring_next_free(u64 position, u64 cons)
{
	return (GPUBPF_RING_SEGMENT(position) + 1 - GPUBPF_RING_SEGMENT(cons)) % GPUBPF_RING_WRAP <
	       GPUBPF_RING_SEGMENTS;
}

/* Open the segment after the full one of `seen`. Many may try: one succeeds, and it is open for the others too. */
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

/* Claim `bytes` of a ring that may be full: their position, or GPUBPF_RING_FULL. */
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
			gpubpf_fence(); /* what is written there comes after the reader has read it */
			gpubpf_ring_open(prod, position);
		}
		position = gpubpf_fetch_add_relaxed_u64(prod, bytes);
		if (!gpubpf_ring_is_over(position, stride))
			return position;
	}
	return GPUBPF_RING_FULL;
}

/* The ring of one's multiprocessor is full from `position` on: open its next segment, or go to another ring. Once all
 * were full nobody looks again until the reader has left some room. */
GPUBPF_FN u64 gpubpf_ring_claim_slow(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u32 *where, u64 bytes, u64 position)
{
	u64 prod = env->arena + GPUBPF_RING_COPY(ctl, *where);
	u64 left = gpubpf_load_u64(env->arena + GPUBPF_RING_LEFT(ctl, copies)) + 1;
	u32 copy = *where, tries;

	/* adds to a full segment must not reach the segment's number, which takes them minutes */
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

/* Claim `bytes` in one of the copies: the address of the header to be, and its position; 0 if all are full. */
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

/* Claim a record of `size` bytes: the address of its header and its position; 0 and a drop counted. */
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

/* bytes of a batch's header and words of bits; `words` of a record */
GPUBPF_FN u32 gpubpf_ring_batch_head(u32 words, u32 lanes)
{
	return 8 + 8 * ((words + (lanes < 32) + 1) / 2);
}

#ifdef GPUBPF_HAS_WARP
/* The first lane's part: the header, and words of the bits that the records' words lost. */
GPUBPF_FN void gpubpf_ring_batch_bits(u64 at, u64 position, u32 lanes, GPUBPF_PRIVATE const u32 *bits, u32 words,
				      u32 size)
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

/* Room for a batch elsewhere: the ring of one's multiprocessor is full. The same for all lanes: where, and its position,
 * or GPUBPF_RING_FULL and drops counted. */
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

/* What does not need the position stands between the add and its result. */
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

/* Whole warps by themselves: of a mask that it does not know ptxas looks each time whether its lanes are together. */
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
	/* the same for all lanes: 32 records and their head within the room behind a segment */
	if (__builtin_constant_p(size) && size > 0 && size <= GPUBPF_RING_EACH_MAX &&
	    (value_size == 0 || size <= value_size) &&
	    gpubpf_ring_batch_head((size + 7) / 8, 1) + 32 * ((size + 7) & ~7ul) <=
		    GPUBPF_RING_ROOM(stride, copy_stride))
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
	gpubpf_store_release_u64(record - 8, (gpubpf_load_u64(record - 8) & ~GPUBPF_RING_BUSY) |
						     GPUBPF_RING_DISCARD);
}

/* a position as the bytes of all segments before it */
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
	       flags == GPUBPF_RB_RING_SIZE ? (s64)stride :
	       flags == GPUBPF_RB_CONS_POS ? (s64)cons :
	       flags == GPUBPF_RB_PROD_POS ? (s64)prod : 0;
}

#endif
