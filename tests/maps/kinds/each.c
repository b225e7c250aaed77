/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests bpf_for_each_map_elem() (helper 164) on each map type that supports it. After each random change a program
 * iterates over the map, in the interpreter and in the Linux kernel (BPF_PROG_TEST_RUN, if bpf(2) is permitted). Both
 * must visit the same elements. Then threads insert and delete keys while others iterate: an iteration must visit each
 * permanent key once, with its own value.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "both.h"

#define ROUNDS 400
#define ROOM 24
#define LRU_ROOM 512      /* so large that no key is evicted */
#define WORDS 3           /* words of 4 bytes in a key */
#define MAX_CPUS 256

enum { TRACE, MAP };

/* arguments and results of the program below */
struct trace {
	uint64_t flags, most;
	int64_t result;
	uint64_t sum;
};

/* The program: its callback adds a hash of each key and its value to a sum, and stops after `most` elements. */
static const char text[] =
	"*(u32 *)(r10 -4) = 0\n r2 = r10\n r2 += -4\n r1 = map[map0]\n call map_lookup_elem\n if r0 != 0 goto there\n r0 = 0\n exit\n"
	"there:\n r6 = r0\n *(u64 *)(r10 -16) = 0\n r1 = *(u64 *)(r6 +8)\n *(u64 *)(r10 -24) = r1\n"
	"r1 = map[map1]\n r2 = func each\n r3 = r10\n r3 += -24\n r4 = *(u64 *)(r6 +0)\n call for_each_map_elem\n"
	"*(u64 *)(r6 +16) = r0\n r1 = *(u64 *)(r10 -16)\n *(u64 *)(r6 +24) = r1\n r0 = 0\n exit\n"
	"each:\n r5 = *(u32 *)(r2 +0)\n"
	"%s"
	"r0 = *(u64 *)(r3 +0)\n r5 ^= r0\n r5 *= 40503\n r0 = r5\n r0 >>= 9\n r5 ^= r0\n"
	"r0 = *(u64 *)(r4 +8)\n r0 += r5\n *(u64 *)(r4 +8) = r0\n"
	"r1 = *(u64 *)(r4 +0)\n r1 += -1\n *(u64 *)(r4 +0) = r1\n r0 = 0\n if r1 != 0 goto more\n r0 = 1\nmore:\n exit\n";
/* additional code of the callback for keys of three words */
static const char more_words[] =
	"r5 *= 31\n r0 = *(u32 *)(r2 +4)\n r5 += r0\n r5 *= 31\n r0 = *(u32 *)(r2 +8)\n r5 += r0\n";

static const struct {
	uint32_t type, room, words;
	bool copies;
} kinds[] = {
	{ BPF_MAP_TYPE_HASH, ROOM, WORDS, false },
	{ BPF_MAP_TYPE_ARRAY, ROOM, 1, false },
	{ BPF_MAP_TYPE_PERCPU_HASH, ROOM, WORDS, true },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, ROOM, 1, true },
	{ BPF_MAP_TYPE_LRU_HASH, LRU_ROOM, WORDS, false },
	{ BPF_MAP_TYPE_LRU_PERCPU_HASH, LRU_ROOM, WORDS, true },
	{ BPF_MAP_TYPE_HASH, ROOM, 1, false },
};

static bool prepare(struct both *b, size_t kind)
{
	char program[2048];

	memset(b, 0, sizeof(*b));
	fixture_begin(&b->f);
	fixture_map(&b->f, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct trace), 1, BOTH_ARGUMENT_USE);
	fixture_map(&b->f, kinds[kind].type, 4 * kinds[kind].words, 8, kinds[kind].room, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ);
	snprintf(program, sizeof(program), text, kinds[kind].words > 1 ? more_words : "");
	return both_begin(b, program);
}

/* Make the same random change in both maps. A per-CPU map gets the same value on all CPUs. */
static bool change(struct both *b, size_t kind, uint64_t *seed)
{
	uint32_t key[WORDS] = { (uint32_t)(random_next(seed) % ROOM), 7, 9 };
	uint64_t values[MAX_CPUS];
	bool erase = random_next(seed) % 3 == 0;
	int ra, rb;

	for (uint32_t w = 1; w < WORDS; w++)
		key[w] *= key[0];
	values[0] = random_next(seed);
	for (uint32_t c = 1; c < MAX_CPUS; c++)
		values[c] = values[0];
	ra = erase ? gpubpf_map_delete(&b->f.view[MAP], key) : gpubpf_map_update(&b->f.view[MAP], key, values, 0);
	rb = b->prog < 0 ? ra : both_kernel(erase ? BPF_MAP_DELETE_ELEM : BPF_MAP_UPDATE_ELEM, b->kernel.fds[MAP], key, erase ? NULL : values);
	return ra == rb;
}

/* Returns the number of elements, counted with get_next_key. */
static int64_t count(const struct both *b)
{
	uint32_t key[WORDS];
	int64_t n = 0;

	for (int err = gpubpf_map_next_key(&b->f.view[MAP], NULL, key); !err; err = gpubpf_map_next_key(&b->f.view[MAP], key, key))
		n++;
	return n;
}

static bool walk(struct both *b, uint64_t *seed)
{
	struct trace a = { .flags = random_next(seed) % 16 == 0, .most = random_next(seed) % 2 ? 1000 : 1 + random_next(seed) % ROOM }, k = a;
	int64_t n = count(b), want = a.flags ? -EINVAL : n < (int64_t)a.most ? n : (int64_t)a.most;
	uint64_t most = a.most;

	if (!both_run_ours(b, &a) || a.result != want)
		return note("%lld elements, %lld wanted", (long long)a.result, (long long)want), false;
	if (b->prog < 0)
		return true;
	/* if the iteration stops early, the sums differ, since the maps may have different orders */
	if (!both_run_kernels(b, &k) || k.result != a.result || ((int64_t)most >= n && k.sum != a.sum))
		return note("the kernel has %lld, %llx, we %lld, %llx", (long long)k.result, (unsigned long long)k.sum, (long long)a.result,
			    (unsigned long long)a.sum), false;
	return true;
}

static void test_kind(size_t kind, uint64_t *seed)
{
	static struct both b;
	const char *name = gpubpf_map_type_find(kinds[kind].type)->name;
	bool good = prepare(&b, kind);
	uint32_t i;

	for (i = 0; good && i < ROUNDS; i++)
		good = change(&b, kind, seed) && walk(&b, seed);
	ok(good, "%s, keys of %u bytes: %u walks between changes", name, 4 * kinds[kind].words, i);
	if (b.prog < 0)
		skip(name, "bpf(2) is not allowed");
	else
		ok(good, "%s: as the kernel's own", name);
	both_end(&b);
}

/* -- concurrent iteration -- */

#define KEY_WORDS 32           /* words of 4 bytes in a key; a large number, so that reading a key takes a while */
#define STAY 64
#define TEMPORARY_KEYS 64             /* number of keys that each writer inserts and deletes */
#define WRITERS 2
#define WALKS 20000

struct table {
	struct fixture f;
	atomic_bool end;
};

static void make_key(uint32_t *key, uint32_t i)
{
	for (uint32_t w = 0; w < KEY_WORDS; w++)
		key[w] = i * (w + 1);
}

struct writer {
	struct table *t;
	uint32_t first;
};

static void *write_keys(void *arg)
{
	const struct writer *w = arg;
	uint64_t seed = w->first * 77 + 1, value;
	uint32_t key[KEY_WORDS];

	while (!atomic_load(&w->t->end)) {
		uint32_t i = w->first + (uint32_t)(random_next(&seed) % TEMPORARY_KEYS);

		make_key(key, i);
		value = i * 1000;
		if (random_next(&seed) % 2)
			gpubpf_map_update(&w->t->f.view[0], key, &value, 0);
		else
			gpubpf_map_delete(&w->t->f.view[0], key);
	}
	return NULL;
}

/*
 * Iterate once. Returns the number of permanent keys that were not visited exactly once, plus the number of invalid
 * keys.
 */
static uint32_t faults(struct table *t)
{
	const struct gpubpf_map_layout *l = &t->f.layout.maps[0];
	uint32_t key[KEY_WORDS], times[STAY] = { 0 }, wrong = 0;
	uint64_t at = 0, value;

	while ((value = gpubpf_hash_each(&t->f.env, GPUBPF_LAYOUT_PASS(l), &at, (u8 *)key)) != 0) {
		for (uint32_t w = 1; w < KEY_WORDS; w++)
			wrong += key[w] != key[0] * (w + 1);
		if (key[0] >= STAY)
			continue;
		times[key[0]]++;
		wrong += gpubpf_load_u64(value) != key[0] * 1000u;
	}
	for (uint32_t i = 0; i < STAY; i++)
		wrong += times[i] != 1;
	return wrong;
}

static void test_at_once(void)
{
	static struct table t;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	uint32_t key[KEY_WORDS], wrong = 0;
	bool good;

	fixture_begin(&t.f);
	fixture_map(&t.f, BPF_MAP_TYPE_HASH, sizeof(key), 8, STAY + WRITERS * TEMPORARY_KEYS, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	good = !fixture_ready(&t.f);
	for (uint32_t i = 0; good && i < STAY; i++) {
		uint64_t value = i * 1000;

		make_key(key, i);
		good = !gpubpf_map_update(&t.f.view[0], key, &value, 0);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ &t, STAY + i * TEMPORARY_KEYS };
		good = good && !pthread_create(&threads[i], NULL, write_keys, &writers[i]);
	}
	for (uint32_t i = 0; good && i < WALKS; i++)
		wrong += faults(&t);
	atomic_store(&t.end, true);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	ok(good && !wrong, "%d walks while %d threads write: %u elements that stay were not seen once, whole", WALKS, WRITERS, wrong);
	fixture_end(&t.f);
}

int main(void)
{
	uint64_t seed = random_seed();

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		test_kind(kind, &seed);
	test_at_once();
	return done();
}
