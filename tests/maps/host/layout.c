/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the layout of maps in an arena: offsets, sizes, replicas, fewer replicas if memory is short, and refusals. No
 * two maps may overlap.
 */
#include <errno.h>
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

static const struct gpubpf_map_layout *only(struct fixture *f, uint32_t type, uint32_t key_size, uint32_t value_size,
					    uint32_t max_entries, uint32_t use)
{
	struct gpubpf_diag diag;

	gpubpf_layout_finish(&f->layout);
	f->unit.nmaps = 0;
	fixture_map(f, type, key_size, value_size, max_entries, use);
	gpubpf_diag_init(&diag);
	return gpubpf_layout_compute(&f->unit, &f->opts, &f->layout, &diag) < 0 ? NULL : &f->layout.maps[0];
}

static void test_copies(void)
{
	const uint32_t add = GPUBPF_USE_LOOKUP | GPUBPF_USE_ADD | GPUBPF_USE_ADD8;
	const struct gpubpf_map_layout *l;
	struct fixture f;

	fixture_begin(&f);
	f.opts.replicas = 132;
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, add);
	ok(l->copies == 132 && l->flags == GPUBPF_LAYOUT_SUM8 && l->copy_stride == 2048, "added to: one copy an SM");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, add);
	ok(l->copy_stride == GPUBPF_REPLICA_ALIGN, "copies do not share a line");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, GPUBPF_USE_ADD | GPUBPF_USE_ADD4);
	ok(l->copies == 132 && l->flags == GPUBPF_LAYOUT_SUM4, "4-byte adds: summed as u32");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, add | GPUBPF_USE_ADD4);
	ok(l->copies == 1 && l->flags == 0, "adds of both widths: one copy");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, add | GPUBPF_USE_READ);
	ok(l->copies == 1 && l->flags == 0, "read by a program: one copy");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, add | GPUBPF_USE_ATOMIC);
	ok(l->copies == 1, "fetched from: one copy");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 16, 256, GPUBPF_USE_LOOKUP | GPUBPF_USE_MAX);
	ok(l->copies == 132 && l->flags == GPUBPF_LAYOUT_MAX8, "only maxima: one copy an SM");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 16, 256, add | GPUBPF_USE_MAX);
	ok(l->copies == 1 && l->flags == 0, "adds and maxima: one copy");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 16, 256, GPUBPF_USE_MAX | GPUBPF_USE_READ);
	ok(l->copies == 1 && l->flags == 0, "maxima that a program reads: one copy");
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1 << 20, add);
	ok(l->copies == 1 && l->flags == 0, "too large to replicate: one copy");
	l = only(&f, BPF_MAP_TYPE_HASH, 4, 8, 1000, add | GPUBPF_USE_UPDATE);
	ok(l->copies == 132 && (l->data + 1000 * l->stride) % GPUBPF_REPLICA_ALIGN == 0,
	   "hash: values replicated, on lines");
	l = only(&f, BPF_MAP_TYPE_HASH, 4, 8, 1000, add | GPUBPF_USE_DELETE);
	ok(l->copies == 1 && l->flags == GPUBPF_LAYOUT_DELETES, "hash with deletions: one copy");
	l = only(&f, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 3, 0);
	ok(l->copies == 132 && l->flags == GPUBPF_LAYOUT_COPIES, "PERCPU_ARRAY: a value an SM");
	gpubpf_layout_finish(&f.layout);
}

/*
 * Small summed maps of one layout share the cache lines of a multiprocessor's replica. Larger sums and other maps do
 * not.
 */
static void test_interleaved(void)
{
	const uint32_t add = GPUBPF_USE_LOOKUP | GPUBPF_USE_ADD | GPUBPF_USE_ADD8;
	const struct gpubpf_map_layout *l;
	struct gpubpf_diag diag;
	struct fixture f;

	fixture_begin(&f);
	f.opts.replicas = 132;
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, add);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 256, add);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 12, 2, add);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, add);
	gpubpf_diag_init(&diag);
	ok(gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) == 0, "laid out: %s", diag.what);
	l = f.layout.maps;
	ok(l[3].data == l[0].data + 8 && l[4].data == l[3].data + 32, "small sums lie beside each other");
	ok(l[0].copy_stride == 128 && l[3].copy_stride == 128 && l[4].copy_stride == 128,
	   "and have the lines of a multiprocessor together");
	ok(!(l[1].flags & GPUBPF_LAYOUT_INTERLEAVED) && !(l[2].flags & GPUBPF_LAYOUT_INTERLEAVED), "others do not");
	ok(l[0].size == 3 * 128 + 132 * 128 && !l[3].size && !l[4].size, "they are copied once");
	ok(l[3].ctl == l[0].ctl + 128 && l[4].ctl == l[0].ctl + 256 && l[0].data == l[0].ctl + 384,
	   "each has its own counters of drops");
	ok(l[0].ctl >= l[1].ctl + l[1].size && l[0].ctl >= l[2].ctl + l[2].size && l[0].ctl + l[0].size <= f.layout.used,
	   "apart from the others");
	ok(gpubpf_map_bytes(&l[3]) == 128 + 132 * 32 && gpubpf_map_bytes(&l[1]) == l[1].size, "what each takes is told");
	gpubpf_layout_finish(&f.layout);
}

static void test_rings(void)
{
	const struct gpubpf_map_layout *l;
	struct fixture f;

	fixture_begin(&f);
	f.opts.replicas = 2;
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0);
	ok(l->copies == 2 && l->stride == 4096 && l->value_size == 0, "RINGBUF: every copy has max_entries bytes");
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 5000, 0);
	ok(l->stride == 8192, "RINGBUF: rounded up to a power of two");
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 26, 0);
	ok(l->copies == 2 && l->stride == 1 << 26, "a large RINGBUF on two units: both have max_entries");
	f.opts.replicas = 8;
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 26, 0);
	ok(l->copies == 8 && l->stride == 1 << 24, "on eight: all together have it");
	f.opts.replicas = 132;
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20, 0);
	ok(l->copies == 132 && l->stride == 1 << 17 && l->stride * GPUBPF_RING_TRIES >= 1 << 20,
	   "on many multiprocessors: smaller copies, of which those that a lane tries have max_entries");
	f.opts.replicas = 2;
	l = only(&f, 1527, 4, 1024, 5000, 0);
	ok(l->stride >= 5000 * 1032 && l->value_size == 1024, "GPU_RINGBUF: room for max_entries records");
	l = only(&f, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 0, 0);
	ok(l->copies == 2 && l->stride == 2 << 20 && (l->flags & GPUBPF_LAYOUT_PERF), "PERF_EVENT_ARRAY: 4 MiB in all");
	gpubpf_layout_finish(&f.layout);
}

static void test_shrinking(void)
{
	const struct gpubpf_map_layout *l;
	uint64_t first;
	struct fixture f;

	fixture_begin(&f);
	l = only(&f, 1502, 4, 8, 1, 0);
	ok(l->copies == 1 << 20 && f.layout.threads == 1 << 20, "per-thread: room for 2^20 threads");
	first = f.layout.hash;
	only(&f, 1502, 4, 8, 1, 0);
	ok(first == f.layout.hash && first, "the same layout has the same hash");
	l = only(&f, 1502, 4, 100, 100, 0);
	ok(l && f.layout.threads == 1 << 16 && f.layout.size <= 1 << 30, "per-thread: %u threads fit", f.layout.threads);
	ok(first != f.layout.hash, "another layout has another hash");
	f.opts.threads = 5000;
	l = only(&f, 1502, 4, 8, 1, 0);
	ok(l->copies == 5000, "per-thread: as many threads as asked for");
	f.opts.max_size = 1 << 20;
	f.opts.replicas = 64;
	l = only(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 18, 0);
	ok(l && l->copies == 1, "in a small arena: fewer copies");
	gpubpf_layout_finish(&f.layout);
}

static void test_refused(void)
{
	struct gpubpf_diag diag;
	struct fixture f;

	fixture_begin(&f);
	ok(!only(&f, BPF_MAP_TYPE_ARRAY, 4, 1 << 20, 1 << 20, 0), "a terabyte does not fit");
	gpubpf_diag_init(&diag);
	ok(gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) == -E2BIG && !strcmp(diag.where, "map map0") &&
		   strstr(diag.what, "needs 1099511627776"),
	   "... and the map is named: %s: %s", diag.where, diag.what);
	ok(strstr(diag.remedy, "max_entries"), "... and what to do: %s", diag.remedy);
	ok(!only(&f, BPF_MAP_TYPE_HASH, 512, 1 << 26, 0x7ffffffe, 0), "the largest numbers do not overflow");
	gpubpf_diag_init(&diag);
	ok(!only(&f, BPF_MAP_TYPE_HASH, 8, 8, 0x7ffffffe, 0) &&
		   gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) == -E2BIG &&
		   strstr(diag.what, "needs up to "),
	   "of a table that is not laid out the size is a bound: %s", diag.what);
	ok(only(&f, BPF_MAP_TYPE_HASH, 8, 8, 10000000, 0), "a table of 400 MB lies in what they may have");
	f.opts.max_size = f.layout.maps[0].ctl + f.layout.maps[0].size + GPUBPF_ARENA_ALIGN;
	ok(only(&f, BPF_MAP_TYPE_HASH, 8, 8, 10000000, 0), "and in what is just enough for it");
	f.opts.max_size -= 2 * GPUBPF_ARENA_ALIGN;
	gpubpf_diag_init(&diag);
	ok(!only(&f, BPF_MAP_TYPE_HASH, 8, 8, 10000000, 0) &&
		   gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) == -E2BIG && strstr(diag.what, "needs 4"),
	   "not in less, and what it needs is told as it is: %s", diag.what);
	f.opts.max_size = 1ull << 33;
	ok(only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1000000000, 0),
	   "an array has no keys and heads of entries that would need room");
	f.opts.threads = UINT32_MAX;
	f.opts.replicas = UINT32_MAX;
	ok(!only(&f, 1502, 4, 1 << 26, 0x7ffffffe, 0), "nor with the most threads");
	ok(only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 16, GPUBPF_USE_ADD) != NULL, "nor with the most replicas");
	f.opts.threads = 0;
	ok(!only(&f, BPF_MAP_TYPE_ARRAY, 8, 8, 16, 0), "an array's key has 4 bytes");
	ok(!only(&f, BPF_MAP_TYPE_HASH, 4, 0, 16, 0), "a value has bytes");
	ok(!only(&f, BPF_MAP_TYPE_HASH, 4, 8, 0, 0), "a map has entries");
	gpubpf_layout_finish(&f.layout);
}

/*
 * Returns true if no two maps overlap, including the ring buffer for prints. In addition, all maps must be aligned, and
 * must not begin before offset `from`.
 */
static bool has_no_overlap(const struct gpubpf_layout *layout, uint64_t from)
{
	uint32_t n = layout->nmaps + (layout->print_ring != 0), bad = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gpubpf_map_layout *a = i < layout->nmaps ? &layout->maps[i] : &layout->prints;

		bad += a->ctl < from || a->ctl + a->size > layout->used || layout->used > layout->size;
		bad += a->ctl % 128 != 0 || a->data % 8 != 0;
		bad += a->data + a->copies * a->copy_stride > a->ctl + a->size;
		for (uint32_t j = 0; j < i; j++) {
			const struct gpubpf_map_layout *b = &layout->maps[j];

			bad += a->ctl < b->ctl + b->size && b->ctl < a->ctl + a->size;
		}
	}
	return !bad;
}

static void test_no_overlap(void)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_HASH,
					  BPF_MAP_TYPE_ARRAY,
					  BPF_MAP_TYPE_PERF_EVENT_ARRAY,
					  BPF_MAP_TYPE_PERCPU_ARRAY,
					  BPF_MAP_TYPE_RINGBUF,
					  1502,
					  1527 };
	struct fixture f;
	uint32_t i;

	fixture_begin(&f);
	f.opts.replicas = 7;
	f.opts.print_bytes = 8192;
	f.opts.threads = 999;
	for (i = 0; i < 7; i++)
		fixture_map(&f, types[i], types[i] == BPF_MAP_TYPE_RINGBUF ? 0 : 4,
			    types[i] == BPF_MAP_TYPE_PERF_EVENT_ARRAY ? 4 : 12, 33, GPUBPF_USE_ADD | GPUBPF_USE_ADD4);
	if (!ok(fixture_ready(&f) == 0, "all types: layout"))
		return;
	ok(has_no_overlap(&f.layout, GPUBPF_ARENA_DATA), "all types: inside the arena, aligned, apart");
	fixture_end(&f);
}

/* An object joins while other maps are in use: its maps follow the others, which must not move. */
static void test_segments(void)
{
	struct gpubpf_map_layout before[2], arena_row;
	struct gpubpf_diag diag;
	struct fixture f;
	uint64_t used, hash;

	fixture_begin(&f);
	f.opts.replicas = 7;
	f.opts.threads = 4096;
	f.opts.spare = 4 << 20;
	fixture_map(&f, BPF_MAP_TYPE_HASH, 4, 8, 33, 0);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 4, GPUBPF_USE_ADD | GPUBPF_USE_ADD8);
	if (!ok(fixture_ready(&f) == 0 && f.layout.size == f.layout.used + (4 << 20) && !f.layout.print_ring,
		"room is kept for segments"))
		return;
	memcpy(before, f.layout.maps, sizeof(before));
	used = f.layout.used;
	hash = f.layout.hash;
	f.opts.print_bytes = 8192;
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1024, GPUBPF_USE_ADD | GPUBPF_USE_ADD8);
	fixture_map(&f, 1502, 4, 8, 1, 0);
	gpubpf_diag_init(&diag);
	ok(!gpubpf_layout_extend(&f.unit, &f.opts, &f.layout, &diag) && f.layout.nmaps == 4 && f.layout.print_ring &&
		   f.layout.hash != hash,
	   "two maps and a ring for prints are laid out");
	ok(!memcmp(before, f.layout.maps, sizeof(before)) && f.layout.maps[2].ctl >= used && f.layout.used <= f.layout.size,
	   "behind the others, which stay");
	ok(has_no_overlap(&f.layout, GPUBPF_ARENA_DATA) && f.layout.maps[2].copies == 7 && f.layout.maps[3].copies == 4096,
	   "with as many copies as the arena has replicas and threads");
	gpubpf_arena_extend(f.arena, &f.unit, &f.layout, 2);
	memcpy(&arena_row, (char *)f.arena + GPUBPF_ARENA_MAPS + 3 * sizeof(arena_row), sizeof(arena_row));
	ok(((struct gpubpf_arena_hdr *)f.arena)->nmaps == 4 && !memcmp(&arena_row, &f.layout.maps[3], sizeof(arena_row)) &&
		   ((struct gpubpf_arena_hdr *)f.arena)->used == used,
	   "the arena's table has them, and nobody may use them yet");
	gpubpf_arena_publish(f.arena, &f.layout);
	ok(((struct gpubpf_arena_hdr *)f.arena)->used == f.layout.used, "and then somebody may");
	used = f.layout.used;
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1 << 20, 0);
	ok(gpubpf_layout_extend(&f.unit, &f.opts, &f.layout, &diag) == -E2BIG && f.layout.used == used &&
		   f.layout.nmaps == 4 && strstr(diag.what, "maps added later"),
	   "what does not fit changes nothing: %s", diag.what);
	fixture_end(&f);
}

int main(void)
{
	test_copies();
	test_interleaved();
	test_rings();
	test_shrinking();
	test_refused();
	test_no_overlap();
	test_segments();
	return done();
}
