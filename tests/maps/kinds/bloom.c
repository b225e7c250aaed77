/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests Bloom filters with one thread and with many: a pushed value is always found, and few other values are. If
 * bpf(2) is permitted, the Linux kernel's filter must give the same required answers and a similar rate of false
 * positives.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define ROOM 5000
#define SIZE 13
#define THREADS 4

/* a filter under test: gpubpf's map, or the Linux kernel's */
struct subject {
	const char *name;
	int (*push)(void *self, const void *value, uint64_t flags);
	int (*ask)(void *self, void *value);
	int (*delete)(void *self, const void *value);
	int (*next)(void *self, const void *value);
	void *self;
};

static int ours_push(void *self, const void *value, uint64_t flags)
{
	return gpubpf_map_update(self, NULL, value, flags);
}

static int ours_ask(void *self, void *value)
{
	return gpubpf_map_lookup(self, NULL, value);
}

static int ours_delete(void *self, const void *value)
{
	return gpubpf_map_delete(self, value);
}

static int ours_next(void *self, const void *value)
{
	char next[SIZE] = "";

	return gpubpf_map_next_key(self, value, next);
}

static int kernel_call(int cmd, void *self, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)*(int *)self, .key = (uintptr_t)key, .value = (uintptr_t)value,
				.flags = flags };

	return syscall(SYS_bpf, cmd, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int kernel_push(void *self, const void *value, uint64_t flags)
{
	return kernel_call(BPF_MAP_UPDATE_ELEM, self, NULL, value, flags);
}

static int kernel_ask(void *self, void *value)
{
	return kernel_call(BPF_MAP_LOOKUP_ELEM, self, NULL, value, 0);
}

static int kernel_delete(void *self, const void *value)
{
	return kernel_call(BPF_MAP_DELETE_ELEM, self, NULL, NULL, 0);
}

static int kernel_next(void *self, const void *value)
{
	char next[SIZE] = "";

	return kernel_call(BPF_MAP_GET_NEXT_KEY, self, NULL, next, 0);
}

/* Store the i-th value of the seed. */
static void make(uint64_t seed, uint32_t i, uint8_t value[SIZE])
{
	uint64_t state = (seed ^ i * 0x9e3779b97f4a7c15ull) | 1;

	for (int at = 0; at < SIZE; at++)
		value[at] = (uint8_t)random_next(&state);
}

/* Returns how many of the ROOM values from the first-th on the filter finds. */
static uint32_t found(const struct subject *s, uint64_t seed, uint32_t first)
{
	uint8_t value[SIZE], before[SIZE];
	uint32_t n = 0;

	for (uint32_t i = first; i < first + ROOM; i++) {
		make(seed, i, value);
		memcpy(before, value, SIZE);
		n += s->ask(s->self, value) == 0 && !memcmp(value, before, SIZE);
	}
	return n;
}

static void test_answers(const struct subject *s, uint64_t seed, uint32_t hashes)
{
	uint8_t value[SIZE];
	uint32_t wrong;
	bool all = true;

	make(seed, 0, value);
	ok(s->push(s->self, value, BPF_NOEXIST) == -EINVAL && s->push(s->self, value, BPF_EXIST) == -EINVAL,
	   "%s: no flags", s->name);
	ok(found(s, seed, 0) == 0, "%s: empty", s->name);
	for (uint32_t i = 0; i < ROOM; i++) {
		make(seed, i, value);
		all &= s->push(s->self, value, BPF_ANY) == 0;
	}
	ok(all && found(s, seed, 0) == ROOM, "%s: what was pushed is there", s->name);
	wrong = found(s, seed, ROOM);
	ok(wrong < ROOM / (hashes < 3 ? 2 : 10), "%s: with %u functions %u of %u others seem to be", s->name, hashes, wrong,
	   ROOM);
	ok(s->delete(s->self, value) == -EOPNOTSUPP && s->next(s->self, value) == -EOPNOTSUPP, "%s: no keys", s->name);
}

static void test_ours(uint64_t seed, uint32_t hashes)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_BLOOM_FILTER, 0, SIZE, ROOM, 0);
	f.maps[0].map_extra = hashes;
	if (!ok(fixture_ready(&f) == 0, "layout"))
		return;
	test_answers(&(struct subject){ "ours", ours_push, ours_ask, ours_delete, ours_next, &f.view[0] }, seed,
		     hashes ? hashes : 5);
	fixture_end(&f);
}

static void test_kernel(uint64_t seed, uint32_t hashes)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_BLOOM_FILTER, .value_size = SIZE, .max_entries = ROOM,
				.map_extra = hashes };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd < 0) {
		skip("kernel", "bpf(2) is not allowed here: %s", strerror(errno));
		return;
	}
	test_answers(&(struct subject){ "the kernel", kernel_push, kernel_ask, kernel_delete, kernel_next, &fd }, seed,
		     hashes ? hashes : 5);
	close(fd);
}

static void test_refused(void)
{
	static const struct {
		uint32_t key, value;
		uint64_t extra;
	} bad[] = { { 4, 8, 0 }, { 0, 0, 0 }, { 0, 8, 16 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		fixture_begin(&f);
		fixture_map(&f, BPF_MAP_TYPE_BLOOM_FILTER, bad[i].key, bad[i].value, 10, 0);
		f.maps[0].map_extra = bad[i].extra;
		ok(fixture_ready(&f) == -EINVAL, "key %u, value %u, extra %llu are refused", bad[i].key, bad[i].value,
		   (unsigned long long)bad[i].extra);
		fixture_end(&f);
	}
}

/* -- many threads: a thread finds a value right after it has pushed the value, whatever other threads do -- */

struct work {
	struct fixture *f;
	uint64_t seed;
	uint32_t thread, missed;
};

static void *push_and_look_up(void *arg)
{
	struct work *w = arg;
	uint8_t value[SIZE];

	for (uint32_t i = 0; i < ROOM; i++) {
		make(w->seed, i * THREADS + w->thread, value);
		w->missed += gpubpf_map_update(&w->f->view[0], NULL, value, BPF_ANY) != 0;
		w->missed += gpubpf_map_lookup(&w->f->view[0], NULL, value) != 0;
	}
	return NULL;
}

static void test_threads(uint64_t seed)
{
	struct work w[THREADS];
	pthread_t thread[THREADS];
	uint32_t missed = 0, all = 0;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_BLOOM_FILTER, 0, SIZE, ROOM * THREADS, 0);
	if (!ok(fixture_ready(&f) == 0, "layout"))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct work){ .f = &f, .seed = seed, .thread = i };
		pthread_create(&thread[i], NULL, push_and_look_up, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		missed += w[i].missed;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		all += found(&(struct subject){ .ask = ours_ask, .self = &f.view[0] }, seed, i * ROOM);
	ok(!missed && all == THREADS * ROOM, "%u threads: nothing is missed", THREADS);
	fixture_end(&f);
}

int main(void)
{
	static const uint32_t hashes[] = { 0, 1, 5, 15 };
	uint64_t seed = random_seed();

	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		test_ours(seed, hashes[i]);
		test_kernel(seed, hashes[i]);
	}
	test_refused();
	test_threads(seed);
	return done();
}
