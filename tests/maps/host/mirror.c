/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the mirror of a device with separate memory; a second copy of the arena stands in for that memory. Counts must
 * arrive, and records must arrive once and intact, although the reader runs between any two copied words. The ring
 * buffer is too small for all records, so it is filled and drained in many rounds.
 */
#include <errno.h>
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "gpubpf/launch.h"
#include "maps/host/mirror.h"
#include "tests/tap.h"

#define ROUNDS 200

struct world {
	struct fixture f; /* f.arena is the mirror in host memory */
	char *device;
	struct gpubpf_mirror mirror;
	uint64_t next, bad, records, refused;
	bool broken; /* copies fail */
};

static int see(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct world *w = arg;
	uint64_t item[3];

	memcpy(item, data, sizeof(item));
	w->bad += size != sizeof(item) || item[0] != w->next || item[1] != ~item[0] || item[2] != item[0] * 3;
	w->next = item[0] + 1;
	w->records++;
	return 0;
}

static void look(struct world *w)
{
	w->bad += gpubpf_ring_read(&w->f.view[0], see, w) < 0;
}

/* Copy word by word, and run the reader between some of them. */
static void copy(struct world *w, char *to, const char *from, u64 size)
{
	u64 i;

	for (i = 0; i < size; i += 8) {
		memcpy(to + i, from + i, 8);
		if (i % 1000 == 0)
			look(w);
	}
}

static int pull(void *arg, u64 offset, void *to, u64 size)
{
	struct world *w = arg;

	copy(w, to, w->device + offset, size);
	look(w);
	return w->broken ? -EIO : 0;
}

static int push(void *arg, u64 offset, const void *from, u64 size)
{
	struct world *w = arg;

	copy(w, w->device + offset, from, size);
	look(w);
	return 0;
}

static int zero(void *arg, u64 offset, u64 size)
{
	struct world *w = arg;

	memset(w->device + offset, 0, size);
	return 0;
}

static int wait(void *arg, bool all)
{
	return 0;
}

static bool still(void *arg, u64 bytes)
{
	return true;
}

/* Write as many records as fit, numbered from number on. Returns the next number. */
static uint64_t launch(struct world *w, uint64_t number)
{
	const struct gpubpf_map_layout *l = &w->f.layout.maps[0], *counter = &w->f.layout.maps[1];
	uint64_t item[3];
	uint32_t key = 2;

	for (;;) {
		item[0] = number;
		item[1] = ~number;
		item[2] = number * 3;
		gpubpf_atomic_add_warp_u64(gpubpf_array_lookup(&w->f.env, GPUBPF_LAYOUT_PASS(counter), (u8 *)&key), 1);
		if (gpubpf_ring_output(&w->f.env, GPUBPF_LAYOUT_PASS(l), (u8 *)item, sizeof(item)) != 0)
			break;
		number++;
	}
	w->refused++;
	return number;
}

/* The mirror has a map that the device does not have yet: its initial content must stay until the device gets it. */
static void test_segment(struct world *w)
{
	uint64_t held = 5, value = 0, number = 9;
	struct gpubpf_diag diag;
	uint32_t key = 2;
	u64 had = w->f.layout.used;
	bool good;

	fixture_map(&w->f, BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0);
	gpubpf_diag_init(&diag);
	ok(!gpubpf_layout_extend(&w->f.unit, &w->f.opts, &w->f.layout, &diag), "a segment more");
	w->f.view[2] = (struct gpubpf_map_view){ w->f.arena, &w->f.maps[2], &w->f.layout.maps[2] };
	gpubpf_arena_extend(w->f.arena, &w->f.unit, &w->f.layout, 2);
	gpubpf_map_update(&w->f.view[2], &key, &held, 0);
	w->mirror.size = had;
	memset((char *)w->device + had, 0xee, w->f.layout.used - had);
	good = !gpubpf_mirror_pull(&w->mirror) && !gpubpf_map_lookup(&w->f.view[2], &key, &value) && value == held;
	ok(good, "one that the device does not have is left alone: %llu", (unsigned long long)value);
	memcpy((char *)w->device + had, (char *)w->f.arena + had, w->f.layout.used - had);
	*(uint64_t *)(uintptr_t)gpubpf_array_lookup(&w->f.env, GPUBPF_LAYOUT_PASS(&w->f.layout.maps[2]),
						    (u8 *)&key) = number;
	w->mirror.size = w->f.layout.used;
	good = !gpubpf_mirror_pull(&w->mirror) && !gpubpf_map_lookup(&w->f.view[2], &key, &value) && value == number;
	ok(good, "and then copied as the others are: %llu", (unsigned long long)value);
}

/* ---- rows of launches ---- */

static int pull_plain(void *arg, u64 offset, void *to, u64 size)
{
	memcpy(to, ((struct world *)arg)->device + offset, size);
	return 0;
}

/* Runs a launch of one block on the device. */
static void run_launch(struct world *w, uint64_t number)
{
	w->f.env.launch = number;
	gpubpf_launches_mark(&w->f.env, GPUBPF_LAYOUT_PASS(&w->f.layout.maps[0]), number, 1, 2, 0);
	gpubpf_launches_mark(&w->f.env, GPUBPF_LAYOUT_PASS(&w->f.layout.maps[0]), number, 1, 2, 2);
}

/* Reads the mirror's rows from *cursor on. Returns the number of rows whose launches are in order from `from` on. */
static uint32_t read_rows(struct world *w, uint64_t *cursor, uint64_t from)
{
	struct gpubpf_launch_row row;
	uint32_t key, n = 0;

	while (!gpubpf_map_iterate(&w->f.view[0], cursor, &key, &row) && row.launch == from + n && key == row.launch)
		n++;
	return n;
}

static void test_rows(void)
{
	uint64_t cursor = 0, number = 0, *row;
	struct world w = { 0 };
	u64 left;

	fixture_begin(&w.f);
	fixture_map(&w.f, 1601, 4, sizeof(struct gpubpf_launch_row), 5, GPUBPF_USE_UPDATE);
	if (!ok(fixture_ready(&w.f) == 0, "layout with rows"))
		return;
	w.device = malloc(w.f.layout.size);
	memcpy(w.device, w.f.arena, w.f.layout.size);
	w.f.env.arena = (uintptr_t)w.device;
	w.mirror = (struct gpubpf_mirror){ w.f.arena, w.f.layout.size, &w, pull_plain, push, zero, wait, still };
	ok(gpubpf_mirror_is_drained(&w.mirror), "maps of launches are drained");
	for (uint32_t i = 0; i < 300; i++) {
		for (uint32_t k = 0; k < i % 6; k++)
			run_launch(&w, number + k);
		w.bad += gpubpf_mirror_drain(&w.mirror, &left) != i % 6 * 64;
		w.bad += read_rows(&w, &cursor, number) != i % 6;
		number += i % 6;
	}
	ok(!w.bad && cursor == 750, "each drain copies the new rows: %llu bad", (unsigned long long)w.bad);
	for (uint32_t k = 0; k < 4; k++)
		run_launch(&w, number + k);
	row = (uint64_t *)(w.device + w.f.layout.maps[0].ctl + GPUBPF_LAUNCHES_ROWS +
			   (number + 2) % 5 * GPUBPF_LAUNCHES_ROW);
	row[3] ^= 1;
	ok(gpubpf_mirror_drain(&w.mirror, &left) == 2 * 64 && read_rows(&w, &cursor, number) == 2,
	   "a row that is not written completely waits");
	row[3] ^= 1;
	ok(gpubpf_mirror_drain(&w.mirror, &left) == 2 * 64 && read_rows(&w, &cursor, number + 2) == 2, "and comes later");
	for (uint32_t k = 4; k < 24; k++)
		run_launch(&w, number + k);
	ok(gpubpf_mirror_drain(&w.mirror, &left) == 5 * 64 && read_rows(&w, &cursor, number + 19) == 5,
	   "after many launches, a drain copies the newest rows");
	free(w.device);
	fixture_end(&w.f);
}

int main(void)
{
	uint64_t number = 0, value = 0;
	uint32_t key = 2, i;
	struct world w = { 0 };
	u64 left;

	fixture_begin(&w.f);
	fixture_map(&w.f, BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, GPUBPF_USE_OUTPUT);
	fixture_map(&w.f, BPF_MAP_TYPE_ARRAY, 4, 8, 4, GPUBPF_USE_ADD | GPUBPF_USE_ADD8);
	w.f.opts.print_bytes = 1024;
	w.f.opts.spare = 65536;
	if (!ok(fixture_ready(&w.f) == 0, "layout"))
		return done();
	w.device = malloc(w.f.layout.size);
	memcpy(w.device, w.f.arena, w.f.layout.size);
	w.f.env.arena = (uintptr_t)w.device;
	w.mirror = (struct gpubpf_mirror){ w.f.arena, w.f.layout.size, &w, pull, push, zero, wait, still };
	for (i = 0; i < ROUNDS; i++) {
		number = launch(&w, number);
		w.bad += gpubpf_mirror_pull(&w.mirror) < 0 || gpubpf_mirror_drain(&w.mirror, &left) < 0 || left;
		look(&w);
	}
	ok(number == ROUNDS * (4096 / 32) && w.records == number, "%llu records of %llu, in %u rounds of a ring of 128",
	   (unsigned long long)w.records, (unsigned long long)number, ROUNDS);
	ok(w.bad == 0, "each once, whole, in order");
	ok(gpubpf_map_drops(&w.f.view[0]) == ROUNDS, "drops arrive");
	ok(gpubpf_map_lookup(&w.f.view[1], &key, &value) == 0 && value == number + ROUNDS, "counts arrive");
	w.broken = true;
	ok(gpubpf_mirror_pull(&w.mirror) == -EIO, "an error is passed on");
	w.broken = false;
	test_segment(&w);
	memset((char *)w.f.arena + GPUBPF_ARENA_MAPS, 0xff, 64);
	ok(gpubpf_mirror_pull(&w.mirror) == 0 && gpubpf_mirror_drain(&w.mirror, &left) == 0,
	   "nonsense for a layout is left alone");
	free(w.device);
	fixture_end(&w.f);
	test_rows();
	return done();
}
