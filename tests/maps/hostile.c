/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all host-side operations on arenas with random bytes, which a thread keeps changing. There must be no access out
 * of bounds (ASan, UBSan), no endless loop, and no unchecked record.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "fixture.h"
#include "maps/impl.h"
#include "tests/tap.h"

#define ROUNDS 500   /* number of rounds, each with a new seed */
#define RACES 4

struct attack {
	struct fixture f;
	uint64_t seed;
	uint8_t *bytes;        /* memory of the arena, exactly as large as its layout */
	bool stop;
};

static const uint64_t nasty[] = {
	0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x8000000000000000, UINT64_MAX, UINT64_MAX - 7,
};

/* Write random words, mostly into the control words of maps, since these hold references. */
static void corrupt(struct attack *a, uint64_t *seed, uint32_t times)
{
	while (times--) {
		const struct gpubpf_map_layout *l = &a->f.layout.maps[random_next(seed) % a->f.unit.nmaps];
		uint64_t span = random_next(seed) % 4 ? l->data - l->ctl + 1024 : l->size;
		uint64_t off = l->ctl + random_next(seed) % span, word = nasty[random_next(seed) % 11];

		if (random_next(seed) % 2)
			word = random_next(seed) % 64;
		off = (off < a->f.layout.size - 8 ? off : a->f.layout.size - 8) & ~7ull;
		__atomic_store_n((uint64_t *)(a->bytes + off), word, __ATOMIC_RELAXED);
	}
}

static void *corrupt_until_stopped(void *arg)
{
	struct attack *a = arg;
	uint64_t seed = a->seed ^ 0x5555;

	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED))
		corrupt(a, &seed, 100);
	return NULL;
}

static int read_record(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct attack *a = arg;
	struct gpubpf_print print;
	volatile uint8_t sum = 0;
	uint32_t i;

	for (i = 0; i < size; i++)
		sum += ((const uint8_t *)data)[i];
	if (gpubpf_print_decode(a->f.arena, &a->f.unit, &a->f.layout, data, size, &print) == 0)
		sum += (uint8_t)strlen(print.text);
	return 0;
}

static void use_keyed(struct attack *a, const struct gpubpf_map_view *view)
{
	uint8_t key[32] = { 0 }, *value = malloc(gpubpf_map_user_value_size(view)), next[32];
	uint64_t cursor = 0;
	uint32_t n = 0;

	key[0] = (uint8_t)(random_next(&a->seed) % 9);
	gpubpf_map_lookup(view, key, value);
	memset(value, 1, gpubpf_map_user_value_size(view));
	gpubpf_map_update(view, key, value, random_next(&a->seed) % 3);
	gpubpf_map_delete(view, key);
	gpubpf_map_lookup_and_delete(view, key, value);
	while (gpubpf_map_next_key(view, n ? key : NULL, next) == 0 && n++ < 100)
		memcpy(key, next, sizeof(key));
	while (gpubpf_map_iterate(view, &cursor, key, value) == 0)
		;
	gpubpf_map_drops(view);
	free(value);
}

static void use_ring(struct attack *a, const struct gpubpf_map_view *view)
{
	uint8_t data[64] = "%s %d %p";
	u64 record;

	gpubpf_ring_output(&a->f.env, GPUBPF_LAYOUT_PASS(view->layout), data, sizeof(data));
	record = gpubpf_ring_reserve(&a->f.env, GPUBPF_LAYOUT_PASS(view->layout), 24);
	if (record)
		gpubpf_helper_ringbuf_submit(&a->f.env, record, 0);
	gpubpf_ring_read(view, read_record, a);
	gpubpf_ring_drain(view, read_record, a);
	gpubpf_map_drops(view);
}

static void use_print(struct attack *a)
{
	const struct gpubpf_map_layout *l = &a->f.layout.prints;
	uint8_t format[] = "%s %-20lx %c %q %%";
	struct gpubpf_map_view view;

	gpubpf_helper_trace_printk(&a->f.env, GPUBPF_LAYOUT_PASS(l), 0, format, sizeof(format),
				   a->f.env.arena + random_next(&a->seed) % (a->f.layout.size + 100), random_next(&a->seed), 1);
	if (gpubpf_print_view(a->f.arena, &a->f.layout, &view))
		gpubpf_ring_read(&view, read_record, a);
}

static bool begin(struct attack *a, uint64_t seed)
{
	void *exact;

	memset(a, 0, sizeof(*a));
	a->seed = seed;
	fixture_begin(&a->f);
	fixture_map(&a->f, BPF_MAP_TYPE_HASH, 4, 8, 16, GPUBPF_USE_DELETE);
	fixture_map(&a->f, BPF_MAP_TYPE_HASH, 20, 12, 7, GPUBPF_USE_ADD | GPUBPF_USE_ADD8);
	fixture_map(&a->f, BPF_MAP_TYPE_ARRAY, 4, 24, 5, GPUBPF_USE_ADD | GPUBPF_USE_ADD4);
	fixture_map(&a->f, BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 5, 0);
	fixture_map(&a->f, 1502, 4, 8, 2, 0);
	fixture_map(&a->f, BPF_MAP_TYPE_RINGBUF, 0, 0, 1024, 0);
	fixture_map(&a->f, 1527, 4, 40, 4, 0);
	fixture_map(&a->f, BPF_MAP_TYPE_QUEUE, 0, 20, 5, 0);
	fixture_map(&a->f, BPF_MAP_TYPE_PERCPU_HASH, 4, 12, 7, GPUBPF_USE_DELETE);
	fixture_map(&a->f, BPF_MAP_TYPE_LRU_HASH, 4, 12, 5, 0);
	fixture_map(&a->f, BPF_MAP_TYPE_BLOOM_FILTER, 0, 20, 5, 0);
	fixture_map(&a->f, BPF_MAP_TYPE_LPM_TRIE, 20, 8, 7, GPUBPF_USE_DELETE);
	a->f.maps[11].map_flags = BPF_F_NO_PREALLOC;
	fixture_map(&a->f, 1601, 4, 64, 5, GPUBPF_USE_UPDATE);
	a->f.opts.replicas = 3;
	a->f.opts.threads = 64;
	a->f.opts.print_bytes = 4096;
	a->f.opts.ring_bytes = 4096;
	a->f.opts.max_size = 1 << 17;
	if (fixture_ready(&a->f) < 0)
		return false;
	/* a heap block has exact bounds, so ASan detects accesses past its end, unlike a mapping */
	exact = aligned_alloc(4096, a->f.layout.size);
	memcpy(exact, a->f.arena, a->f.layout.size);
	a->bytes = exact;
	munmap(a->f.arena, a->f.layout.size);
	a->f.arena = exact;
	a->f.env.arena = (uintptr_t)exact;
	for (uint32_t i = 0; i < a->f.unit.nmaps; i++)
		a->f.view[i].arena = exact;
	return true;
}

/*
 * Shorten timeouts. Random bytes may look like locks or claims that are never released, and waiting for them is not
 * under test.
 */
static void make_hasty(struct attack *a)
{
	for (uint32_t map = 0; map < a->f.unit.nmaps; map++) {
		const struct gpubpf_map_impl *impl = a->f.maps[map].type->impl;
		bool is_hash = impl == &gpubpf_hash_impl || impl == &gpubpf_lpm_impl;

		for (uint32_t i = 0; is_hash && i < gpubpf_hash_nbuckets(a->f.maps[map].max_entries); i++) {
			u64 lock = gpubpf_hash_bucket_at(&a->f.env, a->f.layout.maps[map].ctl, i);

			if (gpubpf_load_u32(lock) == GPUBPF_HASH_HELD)
				gpubpf_store_u32(lock, GPUBPF_HASH_STUCK);
		}
	}
	gpubpf_store_u32(a->f.env.arena + a->f.layout.maps[7].ctl + GPUBPF_QUEUE_STUCK, 1);
}

static bool one_round(uint64_t seed, bool racing)
{
	struct attack a;
	pthread_t thread;
	uint32_t i, turn;

	if (!begin(&a, seed))
		return false;
	corrupt(&a, &a.seed, 40);
	if (racing)
		pthread_create(&thread, NULL, corrupt_until_stopped, &a);
	for (turn = 0; turn < (racing ? 50 : 3); turn++) {
		make_hasty(&a);
		for (i = 0; i < 5; i++)
			use_keyed(&a, &a.f.view[i]);
		use_ring(&a, &a.f.view[5]);
		use_ring(&a, &a.f.view[6]);
		for (i = 7; i < a.f.unit.nmaps; i++)
			use_keyed(&a, &a.f.view[i]);
		use_print(&a);
	}
	__atomic_store_n(&a.stop, true, __ATOMIC_RELAXED);
	if (racing)
		pthread_join(thread, NULL);
	free(a.bytes);
	gpubpf_layout_finish(&a.f.layout);
	return true;
}

int main(void)
{
	uint64_t seed = random_seed();
	uint32_t i, good = 0;

	for (i = 0; i < ROUNDS; i++)
		good += one_round(seed + 2 * i, false);
	ok(good == ROUNDS, "%u corrupted arenas", ROUNDS);
	for (i = good = 0; i < RACES; i++)
		good += one_round(seed + 2 * i, true);
	ok(good == RACES, "arenas that change while they are read");
	return done();
}
