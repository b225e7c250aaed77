/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_map_lookup_elem(), bpf_map_update_elem() and bpf_map_delete_elem() (helpers 1 to 3) in corner cases: the first
 * and last element, indices past the end, keys that differ in late bytes, flags, and full maps.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "fixture.h"
#include "maps/kinds/hash.h"
#include "tests/tap.h"

#define THREADS 6

static s64 update(struct fixture *f, const void *key, uint64_t value, uint64_t flags)
{
	uint64_t words[2] = { value, ~value };

	return gpubpf_host_update(&f->env, &f->view[0], key, words, flags);
}

static bool holds(struct fixture *f, const void *key, uint64_t value)
{
	u64 at = gpubpf_host_lookup(&f->env, &f->view[0], key);

	return at && *(const uint64_t *)(uintptr_t)at == value;
}

static bool inside(const struct fixture *f, u64 at)
{
	u64 arena = (uintptr_t)f->arena;

	return at >= arena + f->layout.maps[0].data && at + f->maps[0].value_size <= arena + f->layout.size;
}

static uint64_t thread_drops(const struct fixture *f)
{
	return ((struct gpubpf_arena_hdr *)f->arena)->thread_drops;
}

static bool begin(struct fixture *f, uint32_t type, uint32_t key_size, uint32_t max_entries, uint32_t use)
{
	fixture_begin(f);
	fixture_map(f, type, key_size, 16, max_entries, use);
	f->opts.replicas = 3;
	f->opts.threads = THREADS;
	return ok(fixture_ready(f) == 0, "type %u, keys of %u bytes, %u entries", type, key_size, max_entries);
}

/* Test an array of this type with 5 elements. */
static void test_array(uint32_t type, uint32_t use)
{
	static const uint32_t beyond[] = { 5, 6, 8, 255, 0x80000000u, UINT32_MAX };
	struct fixture f;
	u64 at[5];
	bool apart = true, none = true, refused = true;

	if (!begin(&f, type, 4, 5, use))
		return;
	for (uint32_t i = 0; i < 5; i++) {
		at[i] = gpubpf_host_lookup(&f.env, &f.view[0], &i);
		apart &= inside(&f, at[i]) && (!i || at[i] - at[i - 1] >= 16 || at[i - 1] - at[i] >= 16);
	}
	ok(apart, "type %u: its elements lie apart in the map", type);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		none &= !gpubpf_host_lookup(&f.env, &f.view[0], &beyond[i]);
		refused &= update(&f, &beyond[i], 1, 0) == -E2BIG;
	}
	ok(none, "type %u: what is beyond its elements is not there", type);
	ok(refused, "type %u: and is not written", type);
	ok(!update(&f, &(uint32_t){ 4 }, 7, 0) && holds(&f, &(uint32_t){ 4 }, 7), "type %u: the last element is written", type);
	ok(!update(&f, &(uint32_t){ 0 }, 8, 2) && holds(&f, &(uint32_t){ 0 }, 8), "type %u: BPF_EXIST writes", type);
	ok(update(&f, &(uint32_t){ 0 }, 9, 1) == -EEXIST && holds(&f, &(uint32_t){ 0 }, 8), "type %u: BPF_NOEXIST does not", type);
	ok(update(&f, &(uint32_t){ 0 }, 9, 3) == -EINVAL, "type %u: a flag that does not exist", type);
	ok(gpubpf_host_delete(&f.env, &f.view[0], &(uint32_t){ 0 }) == -EINVAL, "type %u: nothing is deleted", type);
	fixture_end(&f);
}

static void test_threads(void)
{
	struct gpubpf_host_thread thread = { .grid_dim = { 2, 1, 1 }, .block_dim = { 64, 1, 1 }, .dims = 1 };
	uint32_t last = 4, past = 5;
	struct fixture f;

	if (!begin(&f, 1502, 4, 5, 0))
		return;
	gpubpf_host_thread_set(&thread);
	thread.thread_idx[0] = THREADS - 1;
	ok(inside(&f, gpubpf_host_lookup(&f.env, &f.view[0], &last)), "the last thread has its element");
	ok(!gpubpf_host_lookup(&f.env, &f.view[0], &past) && !thread_drops(&f), "none behind its last: that is no drop");
	thread.thread_idx[0] = THREADS;
	ok(!gpubpf_host_lookup(&f.env, &f.view[0], &last) && thread_drops(&f) == 1, "a thread beyond has none, and is counted");
	gpubpf_host_thread_set(NULL);
	fixture_end(&f);
}

/* Test a hash table of 4 elements with keys of size bytes that differ only in the last byte. */
static void test_keys(uint32_t size)
{
	uint8_t key[32];
	struct fixture f;
	bool good = true;

	if (!begin(&f, BPF_MAP_TYPE_HASH, size, 4, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE))
		return;
	memset(key, 'k', sizeof(key));
	for (uint32_t i = 0; i < 4; i++) {
		key[size - 1] = (uint8_t)i;
		good &= update(&f, key, 100 + i, 1) == 0;
	}
	for (uint32_t i = 0; i < 4; i++) {
		key[size - 1] = (uint8_t)i;
		good &= holds(&f, key, 100 + i);
	}
	ok(good, "keys of %u bytes that differ in the last are told apart", size);
	key[size - 1] = 4;
	ok(!gpubpf_host_lookup(&f.env, &f.view[0], key), "one more is not there");
	ok(update(&f, key, 1, 2) == -ENOENT, "and BPF_EXIST does not put it there");
	ok(update(&f, key, 1, 0) == -E2BIG && gpubpf_map_drops(&f.view[0]) == 1, "a full hash takes no more, and counts it");
	ok(gpubpf_host_delete(&f.env, &f.view[0], key) == -ENOENT, "what is not there is not deleted");
	key[size - 1] = 2;
	ok(update(&f, key, 1, 1) == -EEXIST && holds(&f, key, 102), "BPF_NOEXIST keeps what is there");
	ok(!gpubpf_host_delete(&f.env, &f.view[0], key) && !gpubpf_host_lookup(&f.env, &f.view[0], key), "deleted it is gone");
	fixture_end(&f);
}

/* Read several consecutive values in one operation. If runs is false, this map does not support that. */
static void test_run(uint32_t type, uint32_t use, uint32_t size, bool runs)
{
	uint64_t values[8] = { 0 };
	struct fixture f;
	bool good = true;

	fixture_begin(&f);
	f.opts.replicas = 3;
	fixture_map(&f, type, 4, size, 100, use);
	if (!ok(!fixture_ready(&f), "type %u: layout", type))
		return;
	for (uint32_t i = 0; i < 100 && runs; i++)
		good &= !gpubpf_map_update(&f.view[0], &i, &(uint64_t){ i + 1 }, BPF_ANY);
	ok(gpubpf_map_read_run(&f.view[0], 95, 8, values) == (runs ? 5 : 0) && good, "type %u, %u bytes: what there is, of a run of 8",
	   type, size);
	ok(!runs || (values[0] == 96 && values[4] == 100 && !values[5]), "type %u: its values and no more", type);
	ok(!gpubpf_map_read_run(&f.view[0], 100, 1, values) && !gpubpf_map_read_run(&f.view[0], UINT32_MAX, 1, values),
	   "type %u: none past the end", type);
	fixture_end(&f);
}

static void *release_lock(void *lock)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	gpubpf_store_release_u32((u64)(uintptr_t)lock, 0);
	return NULL;
}

/*
 * A thread that holds a lock may be preempted, so others wait for 100 ms. A dead thread never releases the lock, so the
 * wait must end and be counted.
 */
static void test_held(void)
{
	static const uint32_t key = 7;
	struct gpubpf_map_ctl *ctl;
	struct fixture f;
	pthread_t holder;
	u64 lock;

	if (!begin(&f, BPF_MAP_TYPE_HASH, 4, 16, GPUBPF_USE_WRITE))
		return;
	ctl = (void *)((char *)f.arena + f.layout.maps[0].ctl);
	lock = gpubpf_hash_bucket_at(&f.env, f.layout.maps[0].ctl, gpubpf_hash_bucket((const u8 *)&key, 4, 16));
	gpubpf_store_u32(lock, GPUBPF_HASH_HELD);
	pthread_create(&holder, NULL, release_lock, (void *)(uintptr_t)lock);
	ok(!update(&f, &key, 1, 0) && holds(&f, &key, 1) && !ctl->lock_timeouts, "a lock that is held for 100 ms is waited for");
	pthread_join(holder, NULL);
	gpubpf_store_u32(lock, GPUBPF_HASH_HELD);
	ok(gpubpf_host_delete(&f.env, &f.view[0], &key) == -EBUSY && ctl->lock_timeouts == 1 && holds(&f, &key, 1) &&
	   gpubpf_load_u32(lock) == GPUBPF_HASH_STUCK, "one that is held for ever is not, and that is counted");
	ok(!update(&f, &key, 2, 0) && holds(&f, &key, 2), "what needs no lock is done all the same");
	gpubpf_store_release_u32(lock, 0);
	ok(!gpubpf_host_delete(&f.env, &f.view[0], &key) && !holds(&f, &key, 2), "and all, when it has been let go");
	fixture_end(&f);
}

int main(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24 };

	test_array(BPF_MAP_TYPE_ARRAY, GPUBPF_USE_WRITE);
	test_array(BPF_MAP_TYPE_ARRAY, GPUBPF_USE_ADD | GPUBPF_USE_ADD8);
	test_array(BPF_MAP_TYPE_PERCPU_ARRAY, GPUBPF_USE_WRITE);
	test_array(1502, GPUBPF_USE_WRITE);
	test_threads();
	test_run(BPF_MAP_TYPE_ARRAY, GPUBPF_USE_WRITE, 8, true);
	test_run(BPF_MAP_TYPE_ARRAY, GPUBPF_USE_WRITE, 12, false);
	test_run(BPF_MAP_TYPE_ARRAY, GPUBPF_USE_ADD | GPUBPF_USE_ADD8, 8, false);
	test_run(BPF_MAP_TYPE_PERCPU_ARRAY, GPUBPF_USE_WRITE, 8, false);
	test_run(BPF_MAP_TYPE_HASH, GPUBPF_USE_WRITE, 8, false);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		test_keys(sizes[i]);
	test_held();
	return done();
}
