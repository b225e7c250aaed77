/* SPDX-License-Identifier: Apache-2.0 */
/* Where maps come to lie: copies, sizes, what shrinks, what is refused; and no two maps overlap. */
#include <errno.h>
#include <linux/bpf.h>

#include "fixture.h"
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
	l = only(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1 << 20, add);
	ok(l->copies == 1 && l->flags == 0, "too large to replicate: one copy");
	l = only(&f, BPF_MAP_TYPE_HASH, 4, 8, 1000, add | GPUBPF_USE_UPDATE);
	ok(l->copies == 132 && (l->data + 1000 * l->stride) % GPUBPF_REPLICA_ALIGN == 0, "hash: values replicated, on lines");
	l = only(&f, BPF_MAP_TYPE_HASH, 4, 8, 1000, add | GPUBPF_USE_DELETE);
	ok(l->copies == 1 && l->flags == GPUBPF_LAYOUT_DELETES, "hash with deletions: one copy");
	l = only(&f, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 3, 0);
	ok(l->copies == 132 && l->flags == GPUBPF_LAYOUT_COPIES, "PERCPU_ARRAY: a value an SM");
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
	   strstr(diag.what, "1099511627776"), "... and the map is named: %s: %s", diag.where, diag.what);
	ok(!only(&f, BPF_MAP_TYPE_HASH, 512, 1 << 26, 0x7ffffffe, 0), "the largest numbers do not overflow");
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

/* with every type at once, write to the whole of each map and see the others unchanged */
static void test_apart(void)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERF_EVENT_ARRAY,
					  BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_RINGBUF, 1502, 1527 };
	const struct gpubpf_map_layout *a, *b;
	struct fixture f;
	uint32_t i, j, bad = 0;

	fixture_begin(&f);
	f.opts.replicas = 7;
	f.opts.print_bytes = 8192;
	f.opts.threads = 999;
	for (i = 0; i < 7; i++)
		fixture_map(&f, types[i], types[i] == BPF_MAP_TYPE_RINGBUF ? 0 : 4,
			    types[i] == BPF_MAP_TYPE_PERF_EVENT_ARRAY ? 4 : 12, 33, GPUBPF_USE_ADD | GPUBPF_USE_ADD4);
	if (!ok(fixture_ready(&f) == 0, "all types: layout"))
		return;
	for (i = 0; i <= f.layout.nmaps; i++) {
		a = &f.layout.maps[i];
		bad += a->ctl < GPUBPF_ARENA_MAPS + 8 * sizeof(*a) || a->ctl + a->size > f.layout.size;
		bad += a->ctl % 128 != 0 || a->data % 8 != 0;
		for (j = 0; j < i; j++) {
			b = &f.layout.maps[j];
			bad += a->ctl < b->ctl + b->size && b->ctl < a->ctl + a->size;
		}
	}
	ok(bad == 0, "all types: inside the arena, aligned, apart");
	fixture_end(&f);
}

int main(void)
{
	test_copies();
	test_rings();
	test_shrinking();
	test_refused();
	test_apart();
	return done();
}
