/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests batches in ring buffers (maps/kinds/ring.h), written as a warp writes them. The reader must get each record
 * once, bit for bit, in the order of the lanes, and no record of a batch with missing words. A reader that stops
 * continues there later.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>

#include "fixture.h"
#include "tests/tap.h"

#define SIZE_MAX_HERE 240

static uint8_t sent[32][SIZE_MAX_HERE];
static uint32_t stop_after, seen, wrong, next_lane, lanes_sent, size_sent;

static uint64_t word_of(uint32_t lane, uint32_t i)
{
	uint64_t word = 0;

	memcpy(&word, sent[lane] + 8 * i, size_sent - 8 * i < 8 ? size_sent - 8 * i : 8);
	return word;
}

static uint32_t ballot(uint32_t lanes, uint32_t i)
{
	uint32_t bits = 0, lane;

	for (lane = 0; lane < 32; lane++)
		bits |= (lanes >> lane & 1) & word_of(lane, i) ? 1u << lane : 0;
	return bits;
}

/*
 * Write a batch like gpubpf_ring_batch(), without the word `missing` (0: with all words). Returns the address of its
 * header.
 */
static u64 write_batch(struct fixture *f, uint32_t lanes, uint32_t size, uint32_t missing)
{
	const struct gpubpf_map_layout *l = f->view[0].layout;
	uint32_t words = (size + 7) / 8, n = __builtin_popcount(lanes), head = gpubpf_ring_batch_head(words, n), i, at, lane;
	u64 position = gpubpf_ring_claim_in(&f->env, GPUBPF_LAYOUT_PASS(l), 0, head + 8 * words * n), header, to;
	uint32_t bits[34] = { 0 };

	if (position == GPUBPF_RING_FULL)
		return 0;
	size_sent = size;
	lanes_sent = lanes;
	next_lane = 0;
	for (lane = 0; lane < 32; lane++)
		for (i = 0; i < size; i++)
			sent[lane][i] = (uint8_t)(random() >> 7);
	to = gpubpf_ring_header_at(&f->env, GPUBPF_LAYOUT_PASS(l), 0, position);
	header = gpubpf_ring_tag(position) | GPUBPF_RING_BATCH | (n - 1) << 24 | (size - 1) << 16;
	for (i = 0; i < words; i++)
		bits[i] = ballot(lanes, i);
	bits[words] = lanes;
	for (i = 0; i < (head - 8) / 8; i++) {
		header |= (bits[2 * i] & 1ull) << i;
		gpubpf_store_u64(to + 8 + 8 * i, bits[2 * i] | (u64)bits[2 * i + 1] << 32 | 1);
	}
	for (lane = 0, at = 0; lane < 32; lane++)
		for (i = 0; lanes >> lane & 1 && i < words; i++, at += i == words)
			gpubpf_store_u64(to + head + 8 * (i * n + at), word_of(lane, i) | 1);
	if (missing)
		gpubpf_store_u64(to + 8 * missing, gpubpf_load_u64(to + 8 * missing) & ~1ull);
	gpubpf_store_release_u64(to, header);
	return to;
}

static int see(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	while (next_lane < 32 && !(lanes_sent >> next_lane & 1))
		next_lane++;
	wrong += next_lane == 32 || size != size_sent || memcmp(data, sent[next_lane % 32], size);
	next_lane++;
	seen++;
	return seen == stop_after;
}

static uint32_t some_lanes(void)
{
	static const uint32_t masks[] = { UINT32_MAX, 1, 1u << 31, 0x55555555, 0x0000fff0 };
	uint32_t pick = random() % 8, lanes = (uint32_t)random();

	return pick < 5 ? masks[pick] : lanes ? lanes : 1;
}

static void test_rounds(struct fixture *f)
{
	uint32_t round, size, lanes, full = 0, count = 0;

	for (round = 0; round < 20000; round++) {
		size = 1 + random() % (random() % 4 ? 24 : SIZE_MAX_HERE);
		lanes = some_lanes();
		full += !write_batch(f, lanes, size, 0);
		count += __builtin_popcount(lanes);
		gpubpf_ring_read(&f->view[0], see, NULL);
	}
	ok(!full && !wrong && seen == count, "%u records of %u in 20000 batches, %u wrong", seen, count, wrong);
}

static void test_unfinished(struct fixture *f)
{
	uint32_t size = 40, head = gpubpf_ring_batch_head(5, 32) / 8, missing, early = 0, late = 0;
	u64 at;

	for (missing = 1; missing < head + 5 * 32; missing++) {
		at = write_batch(f, UINT32_MAX, size, missing);
		early += gpubpf_ring_read(&f->view[0], see, NULL) != 0;
		gpubpf_store_u64(at + 8 * missing, gpubpf_load_u64(at + 8 * missing) | 1);
		late += gpubpf_ring_read(&f->view[0], see, NULL) == 32;
	}
	ok(!early && late == missing - 1 && !wrong, "a batch waits for each of its %u words", missing - 1);
	write_batch(f, 0xff, 16, 3);
	ok(gpubpf_ring_drain(&f->view[0], see, NULL) == 0 && gpubpf_map_drops(&f->view[0]) == 8,
	   "the last read steps over it and counts its records");
}

static void test_stop(struct fixture *f)
{
	uint32_t i;
	int64_t n = 1;

	write_batch(f, 0xf0f0f0f0, 16, 0);
	for (i = 0, seen = 0; i < 16 && n == 1; i++) {
		stop_after = i + 1;
		n = gpubpf_ring_read(&f->view[0], see, NULL);
	}
	stop_after = 0;
	ok(i == 16 && !wrong && gpubpf_ring_read(&f->view[0], see, NULL) == 0, "a reader that stops comes back to the next");
}

static void test_nonsense(struct fixture *f)
{
	u64 at = write_batch(f, 0xff, 16, 0);

	gpubpf_store_u64(at + 16, 0x7f); /* the mask has one lane less than the header says */
	ok(gpubpf_ring_read(&f->view[0], see, NULL) == -EBADMSG, "lanes that are not as many as the header says");
	at = write_batch(f, UINT32_MAX, 16, 0);
	gpubpf_store_u64(at, gpubpf_load_u64(at) | 0xff0000);
	ok(gpubpf_ring_read(&f->view[0], see, NULL) == -EBADMSG, "records larger than a batch can have");
}

/* Declare the copy of the ring buffer complete up to a position. Up to there the reader only needs to check headers. */
static void set_whole(struct fixture *f, uint64_t whole)
{
	gpubpf_store_u64((uintptr_t)f->arena + GPUBPF_RING_COPY(f->view[0].layout->ctl, 0) + offsetof(struct gpubpf_ring_copy, whole), whole);
}

/* Write a batch, or sometimes a single record. Returns the number of records, or 0 if the ring buffer is full. */
static uint32_t write_any(struct fixture *f)
{
	uint32_t lanes = some_lanes(), size = 1 + random() % (random() % 4 ? 24 : SIZE_MAX_HERE);
	uint8_t single[SIZE_MAX_HERE] = { 0 };

	if (random() % 8)
		return write_batch(f, lanes, size, 0) ? __builtin_popcount(lanes) : 0;
	return !gpubpf_ring_output(&f->env, GPUBPF_LAYOUT_PASS(f->view[0].layout), single, size);
}

static void test_counts(struct fixture *f)
{
	uint32_t round, n, i, wrong_counts = 0, taken = 0, some;
	int64_t records;

	set_whole(f, 1);
	for (round = 0, records = 0; round < 20000; round++, records = 0) {
		for (n = random() % 20, i = 0; i < n; i++) {
			some = write_any(f);
			records += some;
			wrong_counts += !some;
		}
		wrong_counts += gpubpf_ring_read(&f->view[0], NULL, NULL) != records;
	}
	ok(!wrong_counts, "records of which only the number is asked, in 20000 rounds");
	for (round = 1; round < 32; round++) {
		write_batch(f, UINT32_MAX, 16, 0);
		seen = 0;
		stop_after = round;
		taken += gpubpf_ring_read(&f->view[0], see, NULL) == round;
		records = write_batch(f, 0xff, 16, 0) ? 8 : 0;
		taken += gpubpf_ring_read(&f->view[0], NULL, NULL) == 32 - round + records;
	}
	stop_after = 0;
	ok(taken == 62, "those that a reader who stopped in a batch has left");
}

static void test_counted_nonsense(struct fixture *f)
{
	uint64_t drops = gpubpf_map_drops(&f->view[0]);
	u64 at;

	write_batch(f, UINT32_MAX, 16, 0);
	at = write_batch(f, UINT32_MAX, 16, 0);
	gpubpf_store_u64(at, gpubpf_load_u64(at) | 0xff0000);
	write_batch(f, UINT32_MAX, 16, 0);
	ok(gpubpf_ring_read(&f->view[0], NULL, NULL) == -EBADMSG && gpubpf_map_drops(&f->view[0]) == drops + 1,
	   "none of these may be larger than a batch can have, either");
	write_batch(f, UINT32_MAX, 16, 0);
	at = write_batch(f, UINT32_MAX, 16, 0);
	gpubpf_store_u64(at, gpubpf_load_u64(at) ^ 1ull << 40);
	ok(gpubpf_ring_read(&f->view[0], NULL, NULL) == 32, "nor stand where another was");
	gpubpf_store_u64(at, gpubpf_load_u64(at) ^ 1ull << 40);
	ok(gpubpf_ring_read(&f->view[0], NULL, NULL) == 32, "which is read when it is there");
	set_whole(f, 0);
}

int main(void)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 16, GPUBPF_USE_OUTPUT);
	if (!ok(fixture_ready(&f) == 0, "layout"))
		return done();
	test_rounds(&f);
	test_unfinished(&f);
	test_stop(&f);
	test_nonsense(&f);
	test_counts(&f);
	test_counted_nonsense(&f);
	fixture_end(&f);
	return done();
}
