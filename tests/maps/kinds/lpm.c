/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests LPM tries: random operations against a simple model, and the model against the Linux kernel's map if bpf(2) is
 * permitted. Then writers run concurrently with readers, who must always find the permanent prefixes.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define MAX_DATA 256
#define ROOM 40
#ifdef __SANITIZE_THREAD__
#define OPS 2000
#else
#define OPS 30000
#endif
#define THREADS 4

struct key {
	uint32_t length;
	uint8_t data[MAX_DATA];
};

enum op { LOOKUP, DELETE, UPDATE, NOPS };

struct subject {
	int (*run)(void *self, enum op op, const struct key *key, uint64_t *value, uint64_t flags);
	int (*next)(void *self, const struct key *key, struct key *next);
	void *self;
};

struct model {
	uint32_t bytes;        /* bytes of a key without its prefix length */
	struct {
		bool used;
		struct key key;
		uint64_t value;
	} entry[ROOM];
};

static uint32_t bit(const struct key *key, uint32_t i)
{
	return key->data[i / 8] >> (7 - i % 8) & 1;
}

static bool begins(const struct key *key, const struct key *prefix)
{
	for (uint32_t i = 0; i < prefix->length; i++)
		if (bit(key, i) != bit(prefix, i))
			return false;
	return true;
}

/*
 * Returns the entry with exactly this prefix (exact), or with the longest prefix of the key. Returns -1 if there is
 * none.
 */
static int model_find(const struct model *m, const struct key *key, bool exact)
{
	int best = -1;

	for (int i = 0; i < ROOM; i++)
		if (m->entry[i].used && (exact ? m->entry[i].key.length == key->length : m->entry[i].key.length <= key->length) &&
		    begins(key, &m->entry[i].key) && (best < 0 || m->entry[i].key.length > m->entry[best].key.length))
			best = i;
	return best;
}

static int model_update(struct model *m, const struct key *key, uint64_t value, uint64_t flags)
{
	int i = model_find(m, key, true);

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (i >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (i < 0 && flags == BPF_EXIST)
		return -ENOENT;
	for (int k = 0; i < 0 && k < ROOM; k++)
		if (!m->entry[k].used)
			i = k;
	if (i < 0)
		return -ENOSPC;
	m->entry[i].used = true;
	m->entry[i].key = *key;
	m->entry[i].value = value;
	return 0;
}

static int model_run(void *self, enum op op, const struct key *key, uint64_t *value, uint64_t flags)
{
	struct model *m = self;
	int i;

	if (key->length > m->bytes * 8)
		return op == LOOKUP ? -ENOENT : -EINVAL;
	if (op == UPDATE)
		return model_update(m, key, *value, flags);
	i = model_find(m, key, op == DELETE);
	if (i < 0)
		return -ENOENT;
	if (op == LOOKUP)
		*value = m->entry[i].value;
	else
		m->entry[i].used = false;
	return 0;
}

static int ours_run(void *self, enum op op, const struct key *key, uint64_t *value, uint64_t flags)
{
	switch (op) {
	case LOOKUP: return gpubpf_map_lookup(self, key, value);
	case DELETE: return gpubpf_map_delete(self, key);
	default: return gpubpf_map_update(self, key, value, flags);
	}
}

static int ours_next(void *self, const struct key *key, struct key *next)
{
	return gpubpf_map_next_key(self, key, next);
}

/* Perform the operation with the functions that programs on devices call, which return the address of a value. */
static int program_run(void *self, enum op op, const struct key *key, uint64_t *value, uint64_t flags)
{
	const struct gpubpf_map_view *view = self;
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	u64 address;

	switch (op) {
	case LOOKUP:
		address = gpubpf_host_lookup(&env, view, key);
		if (address)
			*value = gpubpf_load_u64(address);
		return address ? 0 : -ENOENT;
	case DELETE: return (int)gpubpf_host_delete(&env, view, key);
	default: return (int)gpubpf_host_update(&env, view, key, value, flags);
	}
}

static int kernel_call(int cmd, void *self, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)*(int *)self, .key = (uintptr_t)key, .value = (uintptr_t)value,
				.flags = flags };

	return syscall(SYS_bpf, cmd, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int kernel_run(void *self, enum op op, const struct key *key, uint64_t *value, uint64_t flags)
{
	static const int cmds[] = { BPF_MAP_LOOKUP_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_UPDATE_ELEM };

	return kernel_call(cmds[op], self, key, op == DELETE ? NULL : value, op == UPDATE ? flags : 0);
}

static int kernel_next(void *self, const struct key *key, struct key *next)
{
	return kernel_call(BPF_MAP_GET_NEXT_KEY, self, key, next, 0);
}

/* Returns a key with few different bits, so that prefixes nest. Its prefix length is sometimes invalid. */
static struct key random_key(uint64_t *seed, uint32_t bytes)
{
	struct key key = { .length = (uint32_t)(random_next(seed) % (bytes * 8 + 1)) };
	uint64_t few = random_next(seed);

	for (uint32_t i = 0; i < bytes; i++)
		key.data[i] = i == bytes - 1 || i < 2 ? (uint8_t)(few >> (i % 5) & 0x81) : 0;
	if (few % 64 == 0)
		key.length = bytes * 8 + 1;
	return key;
}

/* Returns true if an iteration visits each prefix of the model once, apart from bits past the prefix length. */
static bool same_keys(const struct subject *s, const struct model *m)
{
	struct key key = { 0 }, next = { 0 };
	uint32_t seen = 0, used = 0;

	for (int i = 0; i < ROOM; i++)
		used += m->entry[i].used;
	while (s->next(s->self, seen ? &key : NULL, &next) == 0 && seen++ <= used) {
		key = next;
		if (model_find(m, &key, true) < 0)
			return false;
	}
	return seen == used;
}

static bool agree(const struct subject *s, uint32_t bytes, uint64_t seed)
{
	struct model m = { .bytes = bytes };

	for (uint32_t i = 0; i < OPS; i++) {
		struct key key = random_key(&seed, bytes);
		uint64_t a = random_next(&seed), b = a, flags = random_next(&seed) % 8;
		enum op op = (enum op)(random_next(&seed) % (NOPS + 1));
		int ra, rb;

		op = op < NOPS ? op : UPDATE;
		flags = flags > 3 ? 0 : flags;
		ra = s->run(s->self, op, &key, &a, flags);
		rb = model_run(&m, op, &key, &b, flags);
		if (ra != rb || a != b || (i % 1024 == 0 && !same_keys(s, &m))) {
			note("operation %u (%u, %u bits, flags %llu): %d, wanted %d", i, op, key.length,
			     (unsigned long long)flags, ra, rb);
			return false;
		}
	}
	return same_keys(s, &m);
}

static void test_model(uint32_t bytes, uint64_t seed)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_LPM_TRIE, .key_size = 4 + bytes, .value_size = 8,
				.max_entries = ROOM, .map_flags = BPF_F_NO_PREALLOC };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	for (int programs = 0; programs < 2; programs++) {
		struct fixture f;

		fixture_begin(&f);
		fixture_map(&f, BPF_MAP_TYPE_LPM_TRIE, 4 + bytes, 8, ROOM, GPUBPF_USE_DELETE);
		f.maps[0].map_flags = BPF_F_NO_PREALLOC;
		if (!ok(fixture_ready(&f) == 0, "%u bytes: layout", bytes))
			return;
		ok(agree(&(struct subject){ programs ? program_run : ours_run, ours_next, &f.view[0] }, bytes, seed),
		   "%u bytes: as the model, %s", bytes, programs ? "by programs" : "by the host");
		fixture_end(&f);
	}
	if (fd < 0) {
		skip("kernel", "bpf(2) is not allowed here: %s", strerror(errno));
		return;
	}
	ok(agree(&(struct subject){ kernel_run, kernel_next, &fd }, bytes, seed), "%u bytes: the Linux kernel does the same",
	   bytes);
	close(fd);
}

static void test_refused(void)
{
	static const struct {
		uint32_t key, value, flags;
	} bad[] = { { 4, 8, 1 }, { 261, 8, 1 }, { 8, 0, 1 }, { 8, 8, 0 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		fixture_begin(&f);
		fixture_map(&f, BPF_MAP_TYPE_LPM_TRIE, bad[i].key, bad[i].value, 10, 0);
		f.maps[0].map_flags = bad[i].flags;
		ok(fixture_ready(&f) == -EINVAL, "key %u, value %u, flags %u are refused", bad[i].key, bad[i].value,
		   bad[i].flags);
		fixture_end(&f);
	}
}

/* -- writers and readers: prefixes of 8 bits are permanent, and writers insert and delete longer ones -- */

struct work {
	struct fixture *f;
	uint64_t seed, wrong;
	int err;        /* error of the last failed operation, or a wrong value that a look-up found */
	uint64_t value;
	uint32_t *over;
	bool writes;
};

static void write_all(struct work *w)
{
	for (int i = 0; i < OPS; i++) {
		struct key key = { .length = 9 + (uint32_t)(random_next(&w->seed) % 24), .data = { 10, 1 } };
		uint64_t value = 10ull << 32 | key.length;
		int err = i & 1 ? gpubpf_map_delete(&w->f->view[0], &key) :
				  gpubpf_map_update(&w->f->view[0], &key, &value, BPF_ANY);

		if (err && err != -ENOENT) {
			w->wrong++;
			w->err = err;
		}
	}
	__atomic_fetch_add(w->over, 1, __ATOMIC_RELEASE);
}

static void read_all(struct work *w)
{
	while (__atomic_load_n(w->over, __ATOMIC_ACQUIRE) < THREADS / 2) {
		struct key key = { .length = 32, .data = { 10, 1 } };
		uint64_t value = 0;

		int err = gpubpf_map_lookup(&w->f->view[0], &key, &value);

		if (err || value >> 32 != 10 || (uint32_t)value < 8 || (uint32_t)value > 32) {
			w->wrong++;
			w->err = err;
			w->value = value;
		}
	}
}

static void *work(void *arg)
{
	struct work *w = arg;

	if (w->writes)
		write_all(w);
	else
		read_all(w);
	return NULL;
}

static void test_threads(uint64_t seed)
{
	struct key stays = { .length = 8, .data = { 10 } };
	uint64_t value = 10ull << 32 | 8, wrong = 0;
	pthread_t thread[THREADS];
	struct work w[THREADS];
	uint32_t over = 0;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_LPM_TRIE, 8, 8, ROOM, GPUBPF_USE_DELETE);
	f.maps[0].map_flags = BPF_F_NO_PREALLOC;
	if (!ok(fixture_ready(&f) == 0 && gpubpf_map_update(&f.view[0], &stays, &value, BPF_ANY) == 0, "layout"))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct work){ .f = &f, .seed = seed + 2 * i, .over = &over, .writes = i % 2 };
		pthread_create(&thread[i], NULL, work, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		wrong += w[i].wrong;
		if (w[i].wrong)
			note("%s %u: %llu wrong, error %d, value 0x%llx", w[i].writes ? "writer" : "reader", i,
			     (unsigned long long)w[i].wrong, w[i].err, (unsigned long long)w[i].value);
	}
	ok(!wrong && gpubpf_map_drops(&f.view[0]) == 0, "readers beside writers: the prefix that stays, or a longer one");
	fixture_end(&f);
}

int main(void)
{
	static const uint32_t bytes[] = { 1, 3, 4, 7, 16, 256 };
	uint64_t seed = random_seed();

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		test_model(bytes[i], seed + 2 * i);
	test_refused();
	test_threads(seed);
	return done();
}
