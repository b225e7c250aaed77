/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests full LRU hash tables. No insertion fails, keys in use stay, and the hit rate is similar to that of the Linux
 * kernel's map on the same keys. Then many threads run at once. No element is lost, and no look-up finds another key's
 * value.
 *
 * The tests model.c and percpu.c cover the behaviour that all hash tables share.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define ROOM 512
#define KEYS 4096
#define DRAWS 200000
#define THREADS 4
#define EACH 40000

struct wide {
	uint64_t a, b;
};

static bool begin(struct fixture *f, uint32_t key_size, uint32_t value_size, uint32_t room)
{
	fixture_begin(f);
	fixture_map(f, BPF_MAP_TYPE_LRU_HASH, key_size, value_size, room, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	return ok(fixture_ready(f) == 0, "LRU of %u: layout", room);
}

static uint32_t count(const struct fixture *f)
{
	uint8_t key[16], value[16];
	uint64_t cursor = 0;
	uint32_t n = 0;

	while (gpubpf_map_iterate(&f->view[0], &cursor, key, value) == 0)
		n++;
	return n;
}

/* Each new key evicts another one. The newest key stays, and so do keys that programs look up constantly. */
static void test_forgets(uint32_t room, uint32_t hot)
{
	uint32_t bad = 0, lost = 0, refused = 0, most = 0;
	struct fixture f;

	if (!begin(&f, 4, 4, room))
		return;
	for (uint32_t key = 0; key < 20 * room; key++) {
		uint32_t value = ~key, got = 0;

		refused += gpubpf_map_update(&f.view[0], &key, &value, BPF_NOEXIST) != 0;
		bad += gpubpf_map_lookup(&f.view[0], &key, &got) != 0 || got != value;
		for (uint32_t old = 0; old < hot && old < key; old++)
			lost += !gpubpf_host_lookup(&f.env, &f.view[0], &old);
		most = count(&f) > most ? count(&f) : most;
	}
	ok(!refused && !bad, "LRU of %u: %u refused, %u not there at once", room, refused, bad);
	ok(!lost, "LRU of %u: %u that are used all the time stay", room, hot);
	ok(most == room && count(&f) == room && gpubpf_map_drops(&f.view[0]) == 0, "LRU of %u: holds %u, drops nothing",
	   room, most);
	fixture_end(&f);
}

/* If all keys are in use, an insertion still evicts one. Flags have the same effect as in other hash tables. */
static void test_full(void)
{
	uint32_t key = 100, value = 1, old, there = 0;
	struct fixture f;

	if (!begin(&f, 4, 4, 8))
		return;
	for (old = 0; old < 8; old++)
		gpubpf_map_update(&f.view[0], &old, &value, BPF_ANY);
	for (old = 0; old < 8; old++)
		gpubpf_host_lookup(&f.env, &f.view[0], &old);
	ok(gpubpf_map_update(&f.view[0], &key, &value, BPF_EXIST) == -ENOENT && count(&f) == 8, "BPF_EXIST forgets nothing");
	old = 3;
	ok(gpubpf_map_update(&f.view[0], &old, &value, BPF_NOEXIST) == -EEXIST && count(&f) == 8, "nor BPF_NOEXIST of a key");
	ok(gpubpf_map_update(&f.view[0], &key, &value, 3) == -EINVAL, "other flags are refused");
	ok(gpubpf_map_update(&f.view[0], &key, &value, BPF_NOEXIST) == 0 && count(&f) == 8, "a new key, though all are used");
	for (old = 0; old < 8; old++)
		there += gpubpf_map_lookup(&f.view[0], &old, &value) == 0;
	ok(there == 7 && gpubpf_map_lookup(&f.view[0], &key, &value) == 0, "took the place of one");
	fixture_end(&f);
}

/* -- hit rate -- */

/*
 * Returns a key of a skewed distribution: one of 12 ranges, each twice as long as the previous one, then a key in the
 * range.
 */
static uint32_t draw(uint64_t *seed)
{
	uint32_t range = (uint32_t)(random_next(seed) % 12);

	return (uint32_t)(random_next(seed) % (2u << range)) % KEYS;
}

static int kernel_update(int fd, const uint32_t *key, const uint32_t *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags };

	return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/*
 * Update each key if it is present, otherwise insert it. Returns the number of keys that were present, or UINT32_MAX if
 * an operation failed.
 */
static uint32_t hits(const struct fixture *f, int fd, uint64_t seed)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t key = draw(&seed), value = ~key;
		int err = f ? gpubpf_map_update(&f->view[0], &key, &value, BPF_EXIST) :
			      kernel_update(fd, &key, &value, BPF_EXIST);

		n += !err;
		if (err == -ENOENT)
			err = f ? gpubpf_map_update(&f->view[0], &key, &value, BPF_NOEXIST) :
				  kernel_update(fd, &key, &value, BPF_NOEXIST);
		if (err)
			return UINT32_MAX;
	}
	return n;
}

static void test_hits(uint64_t seed)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_LRU_HASH, .key_size = 4, .value_size = 4, .max_entries = ROOM };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	uint32_t ours, theirs;
	cpu_set_t before, one;
	struct fixture f;

	if (!begin(&f, 4, 4, ROOM))
		return;
	ours = hits(&f, -1, seed);
	fixture_end(&f);
	ok(ours != UINT32_MAX && ours > DRAWS / 2, "of %u uses of %u keys %u find them in %u places", DRAWS, KEYS, ours, ROOM);
	if (fd < 0) {
		skip("the Linux kernel's LRU_HASH", "bpf(2) is not allowed here: %s", strerror(errno));
		return;
	}
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	theirs = hits(NULL, fd, seed);
	sched_setaffinity(0, sizeof(before), &before);
	ok(theirs != UINT32_MAX && ours >= theirs - DRAWS / 50, "and %u in the Linux kernel's table: no 2 %% more", theirs);
	close(fd);
}

/* -- many threads -- */

struct worker {
	struct fixture *f;
	pthread_t thread;
	uint64_t seed, inserted, unexpected, busy, torn;
	uint32_t keys;
};

static struct wide key_of(uint64_t n)
{
	return (struct wide){ n, n * 0x9e3779b97f4a7c15ull };
}

static void *churn(void *arg)
{
	struct worker *w = arg;
	const struct gpubpf_map_view *view = &w->f->view[0];

	for (uint32_t i = 0; i < EACH; i++) {
		struct wide key = key_of(random_next(&w->seed) % w->keys), value = key;
		uint32_t op = (uint32_t)(random_next(&w->seed) % 8);
		s64 ret = 0;

		if (op < 4)
			ret = gpubpf_host_update(&w->f->env, view, &key, &value, BPF_ANY);
		else if (op == 4)
			ret = gpubpf_host_delete(&w->f->env, view, &key);
		else if (op == 5)
			gpubpf_host_lookup(&w->f->env, view, &key);
		else if (gpubpf_map_lookup(view, &key, &value) == 0)
			w->torn += memcmp(&key, &value, sizeof(key)) != 0;
		w->inserted += op < 4 && ret == 0;
		w->busy += ret == -EBUSY;
		w->unexpected += ret != 0 && ret != -EBUSY && !(op == 4 && ret == -ENOENT);
	}
	return NULL;
}

static void test_threads(uint64_t seed, uint32_t room, uint32_t keys)
{
	struct worker w[THREADS] = { 0 }, sum = { 0 };
	struct wide key, value;
	uint64_t cursor = 0;
	uint32_t wrong = 0, left = 0;
	struct fixture f;

	if (!begin(&f, sizeof(key), sizeof(value), room))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .f = &f, .seed = seed * (i + 3) | 1, .keys = keys };
		pthread_create(&w[i].thread, NULL, churn, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		sum.inserted += w[i].inserted;
		sum.unexpected += w[i].unexpected;
		sum.busy += w[i].busy;
		sum.torn += w[i].torn;
	}
	for (; gpubpf_map_iterate(&f.view[0], &cursor, &key, &value) == 0; left++)
		wrong += memcmp(&key, &value, sizeof(key)) != 0;
	ok(!sum.unexpected && !sum.torn && !wrong && left <= room,
	   "LRU of %u: %llu set by %u threads, %llu unexpected, %llu torn, %u wrong of %u left", room,
	   (unsigned long long)sum.inserted, THREADS, (unsigned long long)sum.unexpected, (unsigned long long)sum.torn, wrong,
	   left);
	ok(sum.busy <= gpubpf_map_drops(&f.view[0]) && sum.busy < EACH / 8, "LRU of %u: %llu waited in vain, and are counted",
	   room, (unsigned long long)sum.busy);
	for (uint64_t n = 0; n < 4 * room; n++) {
		key = key_of(n + keys);
		gpubpf_map_update(&f.view[0], &key, &key, BPF_NOEXIST);
	}
	ok(count(&f) == room, "LRU of %u: no element is lost", room);
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_forgets(1, 0);
	test_forgets(7, 2);
	test_forgets(64, 30);
	test_full();
	test_hits(seed);
	test_threads(seed, 1, 3);
	test_threads(seed + 2, 16, 40);
	test_threads(seed + 4, 256, 400);
	return done();
}
