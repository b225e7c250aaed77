/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device default|intel|oclgrind [SPIRV-FILE]: runs the device library on an OpenCL device. Thousands of work-items use
 * the tool's own arena at once. No update may be lost or duplicated, and refused operations must be counted.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "opencl.h"
#include "records.h"

static uint64_t value_of(struct fixture *f, uint32_t key)
{
	uint64_t value[4] = { 0 };

	return gpubpf_map_lookup(&f->view[0], &key, value) == 0 ? value[0] : UINT64_MAX;
}

static void test_counter(struct gpu *gpu, uint32_t use, const char *name)
{
	struct fixture f;
	uint64_t out[4];
	bool even = true;
	uint32_t i;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 16, use);
	f.opts.replicas = 5;
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "count", 0, out), "%s: launch", name))
		return;
	ok(value_of(&f, 0) == items, "%s: %llu counted", name, (unsigned long long)value_of(&f, 0));
	launch(gpu, &f, "count", 16, out);
	for (i = 1; i < 16; i++)
		even &= value_of(&f, i) == items / 16;
	ok(even && value_of(&f, 0) == items + items / 16, "%s: histogram exact", name);
	fixture_end(&f);
}

#define HOST_ADDS 10000000ull

static void *add_along(void *arg)
{
	struct fixture *f = arg;
	uint32_t key = 0;
	uint64_t failed = 0;

	for (uint64_t i = 0; i < HOST_ADDS; i++)
		failed += gpubpf_map_add(&f->view[0], &key, 0, 8, 1) != 0;
	return (void *)(uintptr_t)failed;
}

/* A host thread and all work-items add to one element at the same time. */
static void test_host_adds(struct gpu *gpu, uint32_t use, uint64_t adds, const char *name)
{
	struct fixture f;
	uint64_t out[4], launched = 0;
	pthread_t thread;
	void *failed;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, use);
	f.opts.replicas = 4;
	if (!ok(fixture_ready(&f) == 0 && !pthread_create(&thread, NULL, add_along, &f), "%s: layout", name))
		return;
	while (launched < adds && launch(gpu, &f, "count", 0, out))
		launched += items;
	pthread_join(thread, &failed);
	ok(!failed && launched >= adds && value_of(&f, 0) == HOST_ADDS + launched, "%s: %llu adds of a device, 10^7 of a "
	   "thread: %llu", name, (unsigned long long)launched, (unsigned long long)value_of(&f, 0));
	fixture_end(&f);
}

static void test_counter4(struct gpu *gpu)
{
	struct fixture f;
	uint64_t out[4], value = 0, sum = 0;
	uint32_t key;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 8, GPUBPF_USE_ADD | GPUBPF_USE_ADD4);
	f.opts.replicas = 3;
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "count4", 8, out), "4-byte adds: launch"))
		return;
	for (key = 0; key < 8; key++) {
		gpubpf_map_lookup(&f.view[0], &key, &value);
		sum += value >> 32;
		if ((uint32_t)value)
			sum += 1u << 30;
	}
	ok(sum == items / 4 * 6, "4-byte adds: %llu in all", (unsigned long long)sum);
	fixture_end(&f);
}

/* Returns the sum of a value over all multiprocessors. */
static uint64_t sum_of(const struct fixture *f, const uint64_t *values)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < gpubpf_map_user_value_size(&f->view[0]) / sizeof(*values); i++)
		sum += values[i];
	return sum;
}

static void test_hash_count(struct gpu *gpu, uint32_t type, uint32_t use, const char *name)
{
	uint64_t out[4], cursor = 0, value[4];
	uint32_t key, keys = 100, seen = 0, right = 0;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, type, 4, 8, 128, use);
	f.opts.replicas = 4;
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "hash_count", keys, out), "%s: launch", name))
		return;
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, value) == 0) {
		seen++;
		right += sum_of(&f, value) == items / keys + (key < items % keys);
	}
	ok(seen == keys && right == keys, "%s: %u keys, %u with exact counts (%u copies)", name, seen, right,
	   f.layout.maps[0].copies);
	ok(gpubpf_map_drops(&f.view[0]) == 0, "%s: no drops", name);
	fixture_end(&f);
}

struct wide {
	uint64_t a, b, c;
};

/* Empty the map. Returns true if the host can then insert exactly max_entries new keys, so that no element was lost. */
static bool all_free(struct fixture *f)
{
	uint32_t n = f->maps[0].max_entries, i;
	struct wide key = { 0 };
	uint64_t value = 0, cursor = 0;

	while (gpubpf_map_iterate(&f->view[0], &cursor, &key, &value) == 0)
		gpubpf_map_delete(&f->view[0], &key);
	for (i = 0; i < n; i++) {
		key = (struct wide){ i, 1, 1 };
		if (gpubpf_map_update(&f->view[0], &key, &value, BPF_NOEXIST) < 0)
			return false;
	}
	key.a = n;
	return gpubpf_map_update(&f->view[0], &key, &value, BPF_NOEXIST) == -E2BIG;
}

static void test_hash_fill(struct gpu *gpu, uint32_t keys, uint32_t room, uint32_t use, const char *name)
{
	uint64_t out[4], cursor = 0, value;
	uint32_t seen = 0, right = 0, stored = keys < room ? keys : room;
	struct fixture f;
	struct wide key;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_HASH, sizeof(key), 8, room, use);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "hash_fill", keys, out), "%s: launch", name))
		return;
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0) {
		seen++;
		right += key.a == value && key.b == 77 && key.c == value << 40;
	}
	ok(seen == stored && right == stored, "%s: %u stored, %u right", name, seen, right);
	ok(out[0] + out[1] == items && out[2] == 0 && (keys > room || out[1] == 0),
	   "%s: %llu set, %llu refused, %llu others", name, (unsigned long long)out[0], (unsigned long long)out[1],
	   (unsigned long long)out[2]);
	ok(gpubpf_map_drops(&f.view[0]) == out[1], "%s: what was refused is counted", name);
	ok(all_free(&f), "%s: all elements can be used again", name);
	fixture_end(&f);
}

static uint32_t count_keys(struct fixture *f)
{
	uint64_t cursor = 0, value;
	struct wide key;
	uint32_t n = 0;

	while (gpubpf_map_iterate(&f->view[0], &cursor, &key, &value) == 0)
		n++;
	return n;
}

/*
 * Returns the number of elements of an LRU table that have no key, which is the number of inserts before an eviction.
 */
static uint32_t count_unused(struct fixture *f)
{
	struct wide key = { .b = 2 };
	uint32_t before = count_keys(f);
	uint64_t value = 0;

	for (;; key.a++)
		if (gpubpf_map_update(&f->view[0], &key, &value, BPF_NOEXIST) < 0 || count_keys(f) != before + key.a + 1)
			return key.a;
}

/*
 * Insert more keys than the LRU table holds: every insertion succeeds, and the remaining elements are intact. If a
 * work-item uses a key during its eviction, the element stays free for the next insertion. No element may be lost.
 */
static void test_lru(struct gpu *gpu, uint32_t keys, uint32_t room)
{
	uint64_t out[4], cursor = 0, value = 7;
	uint32_t seen = 0, right = 0, i;
	struct fixture f;
	struct wide key;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_LRU_HASH, sizeof(key), 8, room, GPUBPF_USE_UPDATE);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "hash_fill", keys, out), "LRU of %u: launch", room))
		return;
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0) {
		seen++;
		right += key.a == value && key.b == 77 && key.c == value << 40;
	}
	ok(out[1] == 0 && out[2] < items / 8, "LRU of %u: %u keys, none refused, %llu waited in vain", room, keys,
	   (unsigned long long)out[2]);
	i = count_unused(&f);
	ok(seen + i == room && right == seen, "LRU of %u: %u left, %u right, %u unused", room, seen, right, i);
	for (i = 0, key = (struct wide){ .b = 1 }; i < room; key.a = ++i)
		gpubpf_map_update(&f.view[0], &key, &value, BPF_NOEXIST);
	for (i = seen = 0, key = (struct wide){ .b = 1 }; i < room; key.a = ++i)
		seen += gpubpf_map_lookup(&f.view[0], &key, &value) == 0;
	cursor = 0;
	for (i = 0; gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0; i++)
		;
	ok(i == room && seen > room / 2, "LRU of %u: all of it can be used again, %u of %u new keys are there", room, seen, i);
	fixture_end(&f);
}

static void test_hash_churn(struct gpu *gpu)
{
	uint64_t out[4], cursor = 0, value, timeouts;
	uint32_t seen = 0, wrong = 0;
	struct fixture f;
	struct wide key;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_HASH, sizeof(key), 8, 64, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "hash_churn", 90, out), "churn: launch"))
		return;
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0) {
		seen++;
		wrong += key.a != value || key.b != 5 || key.c != 6;
	}
	ok(out[0] - out[1] == seen, "churn: %llu inserted, %llu deleted, %u left", (unsigned long long)out[0],
	   (unsigned long long)out[1], seen);
	ok(out[2] == 0 && wrong == 0, "churn: %llu unexpected results, %u wrong values", (unsigned long long)out[2], wrong);
	/*
	 * A CPU may preempt the holder of a lock longer than others wait for it. Such timeouts are counted and must be
	 * rare.
	 */
	timeouts = ((const struct gpubpf_map_ctl *)((char *)f.arena + f.layout.maps[0].ctl))->lock_timeouts;
	ok(out[3] <= timeouts && timeouts < items / 8, "churn: %llu waited for a lock in vain, %llu counted",
	   (unsigned long long)out[3], (unsigned long long)timeouts);
	ok(all_free(&f), "churn: all elements can be used again");
	fixture_end(&f);
}

struct queued {
	uint64_t item, check;
	uint32_t odd, pad;
};

/* Empty the queue. Returns the sum of its values; *n is their number and *wrong the number of corrupt ones. */
static uint64_t left_over(struct fixture *f, uint32_t *n, uint32_t *wrong)
{
	struct queued got = { 0 };
	uint64_t cursor = 0, sum = 0;

	for (*n = *wrong = 0; gpubpf_map_iterate(&f->view[0], &cursor, NULL, &got) == 0; (*n)++) {
		*wrong += got.check != ~got.item;
		sum += got.item;
	}
	return sum;
}

static void test_queue_churn(struct gpu *gpu, uint32_t type, uint32_t room, const char *kernel)
{
	uint64_t out[4], sum;
	struct fixture f;
	uint32_t n, wrong;

	fixture_begin(&f);
	fixture_map(&f, type, 0, 20, room, 0);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, kernel, BPF_ANY, out), "%s of %u: launch", kernel, room))
		return;
	sum = left_over(&f, &n, &wrong);
	ok(out[0] - out[1] == sum, "%s of %u: what went in came out, or is one of %u left", kernel, room, n);
	ok(!out[2] && !wrong, "%s of %u: all of it whole", kernel, room);
	ok(out[3] < items / 8, "%s of %u: %llu waited in vain", kernel, room, (unsigned long long)out[3]);
	fixture_end(&f);
}

static void test_queue_fill(struct gpu *gpu, uint64_t flags, const char *name)
{
	struct fixture f;
	uint64_t out[4];
	uint32_t n, wrong;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_QUEUE, 0, 20, 100, 0);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "queue_fill", (cl_uint)flags, out), "%s: launch", name))
		return;
	left_over(&f, &n, &wrong);
	ok(n == 100 && !wrong && !out[2], "%s: %u values, all whole", name, n);
	/* A CPU may preempt the holder of a claimed entry longer than others wait for it. */
	ok(out[0] + out[1] + out[3] == items && (flags == BPF_EXIST ? !out[1] : out[0] == 100) && out[3] < items / 2,
	   "%s: %llu went in, %llu not, %llu waited in vain", name, (unsigned long long)out[0], (unsigned long long)out[1],
	   (unsigned long long)out[3]);
	ok(gpubpf_map_drops(&f.view[0]) == out[1] + out[3], "%s: what was refused is counted", name);
	fixture_end(&f);
}

static void test_bloom(struct gpu *gpu)
{
	struct { uint64_t item, check; uint32_t odd, pad; } value = { 7, ~7ull, 7, 0 };
	uint64_t out[4];
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_BLOOM_FILTER, 0, 20, (uint32_t)items, 0);
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "bloom_fill", 0, out), "bloom filter: launch"))
		return;
	ok(!out[0] && out[1] < items / 10, "bloom filter: what was pushed is there, and %llu others",
	   (unsigned long long)out[1]);
	ok(gpubpf_map_lookup(&f.view[0], NULL, &value) == 0, "bloom filter: the host finds it too");
	fixture_end(&f);
}

/* 16 prefixes of 4 bits must remain, and of the 128 full-length prefixes the even ones. */
static void test_lpm(struct gpu *gpu)
{
	struct { uint32_t length; uint8_t bits[16]; } key;
	uint32_t seen = 0, right = 0;
	uint64_t out[4], cursor = 0, value;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_LPM_TRIE, sizeof(key), 8, 300, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	f.maps[0].map_flags = BPF_F_NO_PREALLOC;
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "lpm_churn", 0, out), "prefixes: launch"))
		return;
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0) {
		seen++;
		right += value == key.bits[0] && (key.length == 4 ? value % 16 == 0 : key.length == 128 && value % 2 == 0);
	}
	ok(!out[0] && out[1] < items / 8, "prefixes: %llu results wrong, %llu waited in vain", (unsigned long long)out[0], (unsigned long long)out[1]);
	ok(out[1] || (seen == 16 + 128 && right == seen), "prefixes: %u left, %u right", seen, right);
	fixture_end(&f);
}

static void test_threads(struct gpu *gpu)
{
	uint64_t out[4], *values;
	uint32_t key = 1, i, right = 0, room = (uint32_t)items - 100;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, 1502, 4, 8, 2, GPUBPF_USE_READ | GPUBPF_USE_WRITE | GPUBPF_USE_RMW);
	f.opts.threads = room;
	if (!ok(fixture_ready(&f) == 0 && launch(gpu, &f, "per_thread", 0, out), "per-thread: launch"))
		return;
	launch(gpu, &f, "per_thread", 0, out);
	values = calloc(1, gpubpf_map_user_value_size(&f.view[0]));
	gpubpf_map_lookup(&f.view[0], &key, values);
	for (i = 0; i < room; i++)
		right += values[i] == 2 * (i + 1ull);
	ok(right == room, "per-thread: %u of %u right", right, room);
	ok(out[0] == 100 && gpubpf_map_drops(&f.view[0]) == 200, "per-thread: threads without room are counted");
	free(values);
	fixture_end(&f);
}

static void test_coordinates(struct gpu *gpu)
{
	size_t global[3] = { 16, 6, 4 }, local[3] = { 4, 3, 2 }, n = 16 * 6 * 4;
	struct fixture f;
	uint64_t out[4];

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	f.opts.replicas = 3;
	if (!ok(fixture_ready(&f) == 0 && launch_dims(gpu, &f, "coordinates", 3, out, 3, global, local),
		"coordinates: launch"))
		return;
	ok(out[0] == n * (n - 1) / 2, "coordinates: linear numbers from 0 to %zu, each once", n - 1);
	ok(out[1] == n / 6 * 15, "coordinates: second dimension");
	ok(out[2] > n / 4 && out[2] < n * 3 / 4, "coordinates: random bits differ (%llu of %zu)", (unsigned long long)out[2], n);
	ok(out[3] == 0, "coordinates: consistent in each thread");
	fixture_end(&f);
}

/*
 * The clock is cycles * mult / 2^32 plus the base in the arena's header, also if the counter is less than the header's.
 */
static void test_clock(struct gpu *gpu, bool spirv)
{
	struct gpubpf_arena_hdr *hdr;
	uint64_t out[4], cycles = spirv ? 12345 : 0, wanted;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	if (!ok(fixture_ready(&f) == 0, "clock: layout"))
		return;
	hdr = f.arena;
	hdr->clock_cycles = cycles + 1000000007ull;
	hdr->clock_ns = 5000000000ull;
	hdr->clock_mult = 0xa3d70a3dull; /* 0.64 ns per cycle */
	wanted = hdr->clock_ns - (uint64_t)((unsigned __int128)1000000007ull * hdr->clock_mult >> 32);
	launch(gpu, &f, "clock_ns", 0, out);
	ok(out[0] + 1 >= wanted && out[0] <= wanted + 1, "clock: behind its base, %llu ns", (unsigned long long)out[0]);
	hdr->clock_cycles = cycles - (1ull << 40);
	wanted = hdr->clock_ns + (uint64_t)((unsigned __int128)(1ull << 40) * hdr->clock_mult >> 32);
	launch(gpu, &f, "clock_ns", 0, out);
	ok(out[0] + 1 >= wanted && out[0] <= wanted + 1, "clock: 2^40 cycles on, %llu ns", (unsigned long long)out[0]);
	fixture_end(&f);
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "default", *spirv = argc > 2 ? argv[2] : NULL;
	struct gpu gpu = { 0 };

	if (!choose_device(which) || !open_gpu(&gpu)) {
		skip(which, "no such OpenCL device here");
		return done();
	}
	if (!ok(build(&gpu, spirv), "the device library builds on %s", which))
		return done();
	test_counter(&gpu, GPUBPF_USE_ADD | GPUBPF_USE_ADD8, "replicated counter");
	test_counter(&gpu, GPUBPF_USE_ADD | GPUBPF_USE_READ, "plain counter");
	test_counter4(&gpu);
	if (strcmp(which, "oclgrind")) { /* Oclgrind's atomics are not atomic with respect to the host */
		test_host_adds(&gpu, GPUBPF_USE_ADD | GPUBPF_USE_ADD8, 153 * items, "sums that the host adds to");
		test_host_adds(&gpu, GPUBPF_USE_ADD | GPUBPF_USE_READ, 153 * items, "values that the host adds to");
	}
	test_hash_count(&gpu, BPF_MAP_TYPE_HASH, GPUBPF_USE_ADD | GPUBPF_USE_ADD8 | GPUBPF_USE_UPDATE, "replicated hash");
	test_hash_count(&gpu, BPF_MAP_TYPE_HASH, GPUBPF_USE_ADD | GPUBPF_USE_READ | GPUBPF_USE_DELETE, "plain hash");
	test_hash_count(&gpu, BPF_MAP_TYPE_PERCPU_HASH, GPUBPF_USE_ADD | GPUBPF_USE_UPDATE, "per-CPU hash");
	test_hash_fill(&gpu, 512, 512, GPUBPF_USE_UPDATE, "exactly full");
	test_hash_fill(&gpu, 512, 512, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE, "exactly full, pinned");
	test_hash_fill(&gpu, 1000, 700, GPUBPF_USE_UPDATE, "overfull");
	test_hash_count(&gpu, BPF_MAP_TYPE_LRU_HASH, GPUBPF_USE_ADD | GPUBPF_USE_UPDATE, "LRU hash");
	test_hash_count(&gpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, GPUBPF_USE_ADD | GPUBPF_USE_UPDATE, "LRU per-CPU hash");
	test_lru(&gpu, 512, 512);
	test_lru(&gpu, 1000, 700);
	test_lru(&gpu, 5000, 64);
	test_hash_churn(&gpu);
	test_queue_churn(&gpu, BPF_MAP_TYPE_QUEUE, 50, "queue_churn");
	test_queue_churn(&gpu, BPF_MAP_TYPE_QUEUE, 1 << 18, "queue_churn");
	test_queue_churn(&gpu, BPF_MAP_TYPE_STACK, 50, "stack_churn");
	test_queue_churn(&gpu, BPF_MAP_TYPE_STACK, 1 << 18, "stack_churn");
	test_queue_fill(&gpu, BPF_ANY, "full queue");
	test_queue_fill(&gpu, BPF_EXIST, "queue that forgets");
	test_bloom(&gpu);
	test_lpm(&gpu);
	test_ring(&gpu, BPF_MAP_TYPE_RINGBUF, 1 << 22, 0, false, "ring_output", 24, "large ring");
	test_ring(&gpu, BPF_MAP_TYPE_RINGBUF, 1 << 12, 0, false, "ring_output", 24, "small ring");
	test_ring(&gpu, BPF_MAP_TYPE_RINGBUF, 1 << 12, 0, true, "ring_output", 13, "small ring, read along");
	test_ring(&gpu, BPF_MAP_TYPE_RINGBUF, 1 << 22, 0, true, "ring_reserve", 0, "large ring, reserved");
	test_ring(&gpu, BPF_MAP_TYPE_RINGBUF, 1 << 12, 0, true, "ring_reserve", 0, "small ring, reserved");
	test_ring(&gpu, 1527, 16, 1024, true, "ring_output", 24, "GPU ring buffer");
	test_ring(&gpu, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 2, 4, false, "ring_output", 24, "perf event array");
	test_threads(&gpu);
	test_print(&gpu);
	test_coordinates(&gpu);
	test_clock(&gpu, spirv != NULL);
	return done();
}
