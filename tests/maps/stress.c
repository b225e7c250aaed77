/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many host threads use one arena, each with the coordinates of GPU threads. No value may be lost, duplicated or torn.
 * A second build uses ThreadSanitizer.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>

#include "fixture.h"
#include "tests/tap.h"

#define THREADS 4
#ifdef __SANITIZE_THREAD__
#define ROUNDS 8000
#else
#define ROUNDS 100000
#endif

struct wide {
	uint64_t a, b;
};

struct worker {
	struct fixture *f;
	pthread_t thread;
	uint32_t id;
	uint64_t seed;
	uint64_t inserted, deleted, unexpected, busy, torn, refused, sent;
	void (*work)(struct worker *w);
};

/* Run a worker's operations; each worker has its own multiprocessor. */
static void *start(void *arg)
{
	struct worker *w = arg;
	struct gpubpf_host_thread at = {
		.grid_dim = { THREADS, 1, 1 }, .block_dim = { 1, 1, 1 }, .block_idx = { w->id, 0, 0 }, .dims = 1, .sm = w->id
	};

	gpubpf_host_thread_set(&at);
	w->work(w);
	gpubpf_host_thread_set(NULL);
	return NULL;
}

static void run(struct fixture *f, struct worker *workers, uint64_t seed, void (*work)(struct worker *w))
{
	uint32_t i;

	memset(workers, 0, THREADS * sizeof(*workers));
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .f = f, .id = i, .seed = seed * (i + 3) | 1, .work = work };
		pthread_create(&workers[i].thread, NULL, start, &workers[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

static struct wide key_of(uint64_t n)
{
	return (struct wide){ n, n * 0x9e3779b97f4a7c15ull };
}

/* Returns true for -EBUSY: the holder of a lock may be preempted longer than others wait, as in the Linux kernel. */
static bool is_busy(struct worker *w, s64 ret)
{
	w->busy += ret == -EBUSY;
	return ret == -EBUSY;
}

/* Insert, delete, overwrite and read random keys. A value is torn if one of its two words differs from the key's. */
static void churn(struct worker *w)
{
	const struct gpubpf_map_view *view = &w->f->view[0];
	struct wide key, value;
	uint32_t i;
	s64 ret;

	for (i = 0; i < ROUNDS; i++) {
		key = key_of(random_next(&w->seed) % 40);
		value = key;
		switch (random_next(&w->seed) % 4) {
		case 0:
			ret = gpubpf_host_update(&w->f->env, view, &key, &value, BPF_NOEXIST);
			w->inserted += ret == 0;
			w->unexpected += ret != 0 && ret != -EEXIST && ret != -E2BIG && !is_busy(w, ret);
			break;
		case 1:
			ret = gpubpf_host_delete(&w->f->env, view, &key);
			w->deleted += ret == 0;
			w->unexpected += ret != 0 && ret != -ENOENT && !is_busy(w, ret);
			break;
		case 2:
			ret = gpubpf_host_update(&w->f->env, view, &key, &value, BPF_EXIST);
			w->unexpected += ret != 0 && ret != -ENOENT && !is_busy(w, ret);
			break;
		default:
			if (gpubpf_map_lookup(view, &key, &value) == 0)
				w->torn += value.a != key.a || value.b != key.b;
		}
	}
}

static void test_churn(uint64_t seed, uint32_t room)
{
	uint64_t inserted = 0, deleted = 0, unexpected = 0, busy = 0, torn = 0, cursor = 0, left = 0, wrong = 0;
	const struct gpubpf_map_ctl *ctl;
	struct worker workers[THREADS];
	struct wide key, value;
	struct fixture f;
	uint32_t i;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_HASH, sizeof(key), sizeof(value), room, GPUBPF_USE_DELETE);
	if (!ok(fixture_ready(&f) == 0, "hash of %u: layout", room))
		return;
	run(&f, workers, seed, churn);
	for (i = 0; i < THREADS; i++) {
		inserted += workers[i].inserted;
		deleted += workers[i].deleted;
		unexpected += workers[i].unexpected;
		busy += workers[i].busy;
		torn += workers[i].torn;
	}
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0) {
		left++;
		wrong += memcmp(&key, &value, sizeof(key)) != 0;
	}
	ok(inserted - deleted == left && left <= room, "hash of %u: %llu inserted, %llu deleted, %llu left", room,
	   (unsigned long long)inserted, (unsigned long long)deleted, (unsigned long long)left);
	ok(!unexpected && !torn && !wrong, "hash of %u: %llu unexpected, %llu torn, %llu wrong", room,
	   (unsigned long long)unexpected, (unsigned long long)torn, (unsigned long long)wrong);
	ctl = (const void *)((char *)f.arena + f.layout.maps[0].ctl);
	ok(busy <= ctl->lock_timeouts && busy < ROUNDS / 8, "hash of %u: %llu waited for a lock in vain, all counted",
	   room, (unsigned long long)busy);
	fixture_end(&f);
}

static void count(struct worker *w)
{
	uint32_t i, key;
	u64 address, one = 1;

	for (i = 0; i < ROUNDS; i++) {
		key = (uint32_t)(random_next(&w->seed) % 16);
		address = gpubpf_host_lookup(&w->f->env, &w->f->view[0], &key);
		if (!address && gpubpf_host_update(&w->f->env, &w->f->view[0], &key, &one, BPF_NOEXIST) == 0)
			continue;
		if (!address)
			address = gpubpf_host_lookup(&w->f->env, &w->f->view[0], &key);
		if (address)
			gpubpf_atomic_add_warp_u64(address, 1);
		else
			w->unexpected++;
	}
}

static void take_maxima(struct worker *w)
{
	uint32_t i, key;
	u64 address;

	for (i = 0; i < ROUNDS; i++) {
		key = i % 16;
		address = gpubpf_host_lookup(&w->f->env, &w->f->view[0], &key);
		gpubpf_atomic_max_u64(address, (u64)key << 32 | random_next(&w->seed) >> 40);
		if (i == w->id * 16u + key)
			gpubpf_atomic_max_u64(address, (u64)key << 32 | (0xffffff00u + w->id));
	}
}

/* Threads take maxima of the same words. Each word ends with the largest number of all threads. */
static void test_maxima(uint64_t seed, uint32_t use, const char *name)
{
	struct worker workers[THREADS];
	uint64_t value, cursor = 0;
	uint32_t key, right = 0;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 16, use);
	f.opts.replicas = THREADS - 1;
	if (!ok(fixture_ready(&f) == 0, "%s: layout", name))
		return;
	run(&f, workers, seed, take_maxima);
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0)
		right += value == ((uint64_t)key << 32 | (0xffffff00u + THREADS - 1));
	ok(right == 16, "%s: %u of 16 are the largest number", name, right);
	ok(gpubpf_map_add(&f.view[0], &(uint32_t){ 0 }, 0, 8, 1) == (use & GPUBPF_USE_READ ? 0 : -EINVAL),
	   "%s: the host adds only to the value of a map with one copy", name);
	fixture_end(&f);
}

static void test_count(uint64_t seed, uint32_t type, uint32_t use, const char *name)
{
	struct worker workers[THREADS];
	uint64_t sum = 0, value, cursor = 0;
	struct fixture f;
	uint32_t key;

	fixture_begin(&f);
	fixture_map(&f, type, 4, 8, 16, use);
	f.opts.replicas = THREADS - 1;
	if (!ok(fixture_ready(&f) == 0, "%s: layout", name))
		return;
	run(&f, workers, seed, count);
	while (gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0)
		sum += value;
	ok(sum == THREADS * ROUNDS, "%s: %llu adds, %llu counted", name, (unsigned long long)(THREADS * ROUNDS),
	   (unsigned long long)sum);
	fixture_end(&f);
}

/*
 * Write records of 16 to 40 bytes, which consist of the record's number. Every fifth is reserved; every tenth is
 * discarded.
 */
static void emit(struct worker *w)
{
	const struct gpubpf_map_layout *l = w->f->view[0].layout;
	uint64_t data[5], record;
	uint32_t i, size;

	for (i = 0; i < ROUNDS; i++) {
		data[0] = data[1] = data[2] = data[3] = data[4] = (uint64_t)w->id * ROUNDS + i;
		size = 16 + i % 25;
		if (i % 5) {
			w->refused += gpubpf_ring_output(&w->f->env, GPUBPF_LAYOUT_PASS(l), (u8 *)data, size) != 0;
			w->sent++;
			continue;
		}
		record = gpubpf_ring_reserve(&w->f->env, GPUBPF_LAYOUT_PASS(l), 16);
		w->refused += !record;
		w->sent += i % 10 != 0 || !record;
		if (!record)
			continue;
		gpubpf_store_u64(record, data[0]);
		gpubpf_store_u64(record + 8, data[0]);
		if (i % 10)
			gpubpf_helper_ringbuf_submit(&w->f->env, record, 0);
		else
			gpubpf_helper_ringbuf_discard(&w->f->env, record, 0);
	}
}

struct reading {
	struct gpubpf_map_view *view;
	uint8_t *seen;
	uint64_t records, bad;
	bool stop;
};

static int see(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct reading *r = arg;
	uint64_t item[2];

	memcpy(item, data, sizeof(item));
	r->bad += size < 16 || item[0] != item[1] || item[0] >= THREADS * ROUNDS;
	if (item[0] < THREADS * ROUNDS)
		r->bad += r->seen[item[0]]++;
	r->records++;
	return 0;
}

static void *reader(void *arg)
{
	struct reading *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		if (gpubpf_ring_read(r->view, see, r) < 0)
			r->bad++;
		sched_yield();
	}
	r->bad += gpubpf_ring_read(r->view, see, r) < 0;
	return NULL;
}

static void test_ring(uint64_t seed, uint32_t bytes, uint32_t replicas)
{
	struct reading r = { .seen = calloc(THREADS, ROUNDS) };
	struct worker workers[THREADS];
	uint64_t sent = 0, refused = 0;
	struct fixture f;
	pthread_t thread;
	uint32_t i;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, GPUBPF_USE_OUTPUT);
	f.opts.replicas = replicas;
	r.view = &f.view[0];
	if (!ok(fixture_ready(&f) == 0, "ring of %u bytes: layout", bytes))
		return;
	pthread_create(&thread, NULL, reader, &r);
	run(&f, workers, seed, emit);
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (i = 0; i < THREADS; i++) {
		sent += workers[i].sent;
		refused += workers[i].refused;
	}
	ok(r.bad == 0, "ring of %u bytes: %llu bad records", bytes, (unsigned long long)r.bad);
	ok(r.records + refused == sent && gpubpf_map_drops(&f.view[0]) == refused,
	   "ring of %u bytes, %u copies: %llu sent, %llu read, %llu dropped", bytes, f.layout.maps[0].copies,
	   (unsigned long long)sent, (unsigned long long)r.records, (unsigned long long)refused);
	free(r.seen);
	fixture_end(&f);
}

/*
 * A lock is held until waiters time out, and then released. Meanwhile other buckets work; afterwards this bucket works
 * too.
 */
static void test_stuck(void)
{
	struct fixture f;
	struct gpubpf_map_ctl *ctl;
	uint32_t *lock, bucket, key = 7, other = 8;
	uint64_t value = 1;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_HASH, 4, 8, 64, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	if (!ok(fixture_ready(&f) == 0, "stuck lock: layout"))
		return;
	ctl = (void *)((char *)f.arena + f.layout.maps[0].ctl);
	bucket = gpubpf_hash_bucket((const u8 *)&key, 4, 64);
	while (gpubpf_hash_bucket((const u8 *)&other, 4, 64) == bucket)
		other++;
	lock = (void *)(uintptr_t)gpubpf_hash_bucket_at(&f.env, f.layout.maps[0].ctl, bucket);
	*lock = GPUBPF_HASH_HELD;
	ok(gpubpf_map_update(&f.view[0], &key, &value, BPF_ANY) == -EBUSY && ctl->lock_timeouts == 1 &&
		   *lock == GPUBPF_HASH_STUCK,
	   "stuck lock: given up once, and marked");
	ok(gpubpf_map_update(&f.view[0], &key, &value, BPF_ANY) == -EBUSY && gpubpf_map_drops(&f.view[0]) == 2,
	   "stuck lock: given up again, and both are drops");
	ok(gpubpf_map_update(&f.view[0], &other, &value, BPF_ANY) == 0, "stuck lock: other buckets go on");
	gpubpf_hash_unlock(&f.env, (uintptr_t)lock);
	ok(gpubpf_map_update(&f.view[0], &key, &value, BPF_ANY) == 0 && *lock == 0 && ctl->lock_timeouts == 2 &&
		   gpubpf_map_delete(&f.view[0], &key) == 0,
	   "stuck lock: as before once the holder let it go");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_churn(seed, 64);
	test_churn(seed + 2, 24);
	test_churn(seed + 4, 1);
	test_count(seed, BPF_MAP_TYPE_ARRAY, GPUBPF_USE_ADD | GPUBPF_USE_ADD8, "replicated array");
	test_count(seed, BPF_MAP_TYPE_HASH, GPUBPF_USE_ADD | GPUBPF_USE_ADD8 | GPUBPF_USE_UPDATE, "replicated hash");
	test_count(seed, BPF_MAP_TYPE_HASH, GPUBPF_USE_ADD | GPUBPF_USE_READ | GPUBPF_USE_UPDATE, "hash");
	test_maxima(seed, GPUBPF_USE_MAX, "replicated maxima");
	test_maxima(seed, GPUBPF_USE_MAX | GPUBPF_USE_READ, "maxima");
	test_ring(seed, 128, 1);
	test_ring(seed, 4096, 3);
	test_ring(seed, 1 << 20, 4);
	test_stuck();
	return done();
}
