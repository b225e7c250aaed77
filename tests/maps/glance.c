/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests gpubpf_hash_glance(), a look-up through a multiprocessor's cache that lowering emits before the full look-up.
 * It may find the correct value or nothing, but no other value. This must hold while the cache has stale words of
 * elements that are not yet filled, and while threads insert keys.
 */
#include <linux/bpf.h>
#include <pthread.h>

#include "fixture.h"
#include "tests/tap.h"

#define KEYS 4096
#define THREADS 3

struct shape {
	const char *name;
	uint32_t type, key_size, value_size, entries, use, replicas, flags;
	bool glances;
};

static const struct shape shapes[] = {
	{ "u32 to u64", BPF_MAP_TYPE_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, true },
	{ "u8", BPF_MAP_TYPE_HASH, 1, 8, 256, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, true },
	{ "u64 to 24 bytes", BPF_MAP_TYPE_HASH, 8, 24, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, true },
	{ "a copy a multiprocessor", BPF_MAP_TYPE_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_ADD | GPUBPF_USE_ADD8, 3, 0, true },
	{ "a value a multiprocessor", BPF_MAP_TYPE_PERCPU_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, true },
	{ "keys of two words", BPF_MAP_TYPE_HASH, 12, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, false },
	{ "programs delete", BPF_MAP_TYPE_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE, 3, 0, false },
	{ "LRU", BPF_MAP_TYPE_LRU_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, 0, false },
	{ "the host deletes", BPF_MAP_TYPE_HASH, 4, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 3, GPUBPF_LAYOUT_LIVE, false },
};

static u64 glance(const struct fixture *f, const void *key)
{
	return gpubpf_hash_glance(&f->env, GPUBPF_LAYOUT_PASS(f->view[0].layout), key);
}

static u64 look_up(const struct fixture *f, const void *key)
{
	return gpubpf_hash_lookup(&f->env, GPUBPF_LAYOUT_PASS(f->view[0].layout), key);
}

static bool ready(struct fixture *f, const struct shape *s)
{
	fixture_begin(f);
	fixture_map(f, s->type, s->key_size, s->value_size, s->entries, s->use);
	f->opts.replicas = s->replicas;
	if (!ok(!fixture_ready(f), "%s: layout", s->name))
		return false;
	f->layout.maps[0].flags |= s->flags;
	return true;
}

static void test_finds(const struct shape *s, uint64_t seed)
{
	uint8_t value[64] = { 0 };
	struct fixture f;
	uint64_t key[2] = { 0 };
	unsigned found = 0, wrong = 0, there = 0;

	if (!ready(&f, s))
		return;
	for (uint32_t i = 0; i < s->entries / 2; i++) {
		key[0] = random_next(&seed) % s->entries;
		gpubpf_host_update(&f.env, &f.view[0], key, value, BPF_ANY);
	}
	for (uint32_t i = 0; i < s->entries; i++) {
		u64 by_glance, address;

		key[0] = i;
		by_glance = glance(&f, key);
		address = look_up(&f, key);
		there += address != 0;
		found += by_glance != 0;
		wrong += by_glance && by_glance != address;
	}
	ok(!wrong, "%s: what it finds is what a look-up finds", s->name);
	ok(s->glances ? found > there * 9 / 10 : !found, "%s: it finds %u of %u", s->name, found, there);
	fixture_end(&f);
}

/* The cache has the new bucket word but old words of its element: zeros, or a partially written key. */
static void test_unfilled(void)
{
	uint32_t key = 0, other = 1;
	uint64_t value = 7, *elem;
	struct fixture f;

	if (!ready(&f, &shapes[0]))
		return;
	while (gpubpf_hash_bucket((u8 *)&other, 4, KEYS) != gpubpf_hash_bucket((u8 *)&key, 4, KEYS))
		other++;
	gpubpf_host_update(&f.env, &f.view[0], &other, &value, BPF_ANY);
	elem = (uint64_t *)((char *)f.arena + f.layout.maps[0].data);
	ok(!glance(&f, &key) && glance(&f, &other), "key 0 is not the one that lies in its bucket");
	elem[0] = elem[1] = 0;
	ok(!glance(&f, &key), "nor what is not filled yet");
	elem[0] = 1ull << 32;
	ok(!glance(&f, &key), "nor what is being filled");
	fixture_end(&f);
}

struct worker {
	struct fixture *f;
	uint32_t id;
	uint64_t found, wrong;
	pthread_t thread;
};

/* Insert all keys, each with the key as its value; other threads insert the same keys. */
static void *insert(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < KEYS; i++) {
		uint64_t key = (i * 7 + w->id * (KEYS / THREADS)) % KEYS, past = KEYS + key;
		u64 address = glance(w->f, &key);

		w->found += address != 0;
		w->wrong += (address && gpubpf_load_u64(address) != key) || glance(w->f, &past);
		gpubpf_host_update(&w->f->env, &w->f->view[0], &key, &key, BPF_NOEXIST);
		address = glance(w->f, &key);
		w->wrong += address && gpubpf_load_u64(address) != key;
	}
	return NULL;
}

static void test_together(void)
{
	const struct shape words = { "u64 to u64", BPF_MAP_TYPE_HASH, 8, 8, KEYS, GPUBPF_USE_UPDATE | GPUBPF_USE_READ, 1, 0, true };
	struct worker w[THREADS];
	uint64_t found = 0, wrong = 0;
	struct fixture f;

	if (!ready(&f, &words))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .f = &f, .id = i };
		pthread_create(&w[i].thread, NULL, insert, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		found += w[i].found;
		wrong += w[i].wrong;
	}
	ok(!wrong, "%u threads insert: each value that is found is its key's (%llu were)", THREADS, (unsigned long long)found);
	fixture_end(&f);
}

/*
 * Returns 100 times the average number of keys that a look-up compares, for n keys at distance step. *most is the size
 * of the largest bucket.
 */
static uint32_t chain(uint32_t n, uint32_t step, uint32_t *most)
{
	uint32_t *keys = calloc(gpubpf_hash_nbuckets(n), sizeof(*keys));
	uint64_t sum = 0;

	*most = 0;
	for (uint32_t i = 0; keys && i < n; i++) {
		uint32_t there = ++keys[gpubpf_hash_short(i * step, n)];

		sum += there;
		*most = there > *most ? there : *most;
	}
	free(keys);
	return (uint32_t)(sum * 100 / n);
}

static void test_buckets(void)
{
	static const uint32_t entries[] = { 64, 256, 1000, 4096, 65536 }, steps[] = { 2, 3, 4, 16, 24, 32, 100, 256, 1000, 4096, 65536 };
	uint32_t most, longest = 0, worst = 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		chain(entries[i], 1, &most);
		longest = most > longest ? most : longest;
		for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
			uint32_t mean = chain(entries[i], steps[k], &most);

			worst = mean > worst ? mean : worst;
		}
	}
	ok(longest == 1, "buckets: keys that are counted share none (%u)", longest);
	ok(worst < 180, "buckets: a look-up of keys that are apart goes through %u.%02u", worst / 100, worst % 100);
}

int main(void)
{
	uint64_t seed = random_seed();

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		test_finds(&shapes[i], seed + 2 * i);
	test_unfilled();
	test_together();
	test_buckets();
	return done();
}
