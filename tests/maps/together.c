/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concurrent threads on map types whose other tests have one thread. GPU threads count in inner maps while the host
 * inserts and removes these maps, and launches request the ids of their stacks. No count may be lost, and no look-up
 * may find a wrong map.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "fixture.h"
#include "tests/tap.h"

#define THREADS 4          /* number of threads; thread 0 is the host */
#ifdef __SANITIZE_THREAD__
#define ROUNDS 5000
#else
#define ROUNDS 50000
#endif
#define INNER 3
#define ROOM 4             /* entries of the outer map and of each inner map */
#define STACKS 64
#define BUCKETS 16

enum { PROTOTYPE = INNER, OUTER };

struct worker {
	struct fixture *f;
	uint32_t id;
	uint64_t seed, counted[INNER], found[BUCKETS], wrong;
	/* no look-up may find another key's inner map; in a hash table it may, while the host deletes the key */
	bool strict;
	pthread_barrier_t *begin;
	pthread_t thread;
};

static void run(struct worker *w, struct fixture *f, bool strict, uint64_t seed, void *(*work)(void *arg))
{
	pthread_barrier_t begin;

	memset(w, 0, THREADS * sizeof(*w));
	pthread_barrier_init(&begin, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .f = f, .id = i, .seed = (seed + i) * 2 + 1, .strict = strict, .begin = &begin };
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	pthread_barrier_destroy(&begin);
}

/* As the host: store inner map k % 3 or (k + 1) % 3 at key k of the outer map, or delete the key. */
static void change(struct worker *w, uint32_t key)
{
	uint32_t number = (key + random_next(&w->seed) % 2) % INNER + 1;
	int err = random_next(&w->seed) % 3 ? gpubpf_map_update(&w->f->view[OUTER], &key, &number, BPF_ANY) :
					      gpubpf_map_delete(&w->f->view[OUTER], &key);

	w->wrong += err && err != -ENOENT;
}

static void *use_element(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(w->begin);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t key = random_next(&w->seed) % ROOM, index = random_next(&w->seed) % ROOM;
		u64 inner, address;

		if (!w->id) {
			change(w, key);
			continue;
		}
		inner = gpubpf_host_lookup(&w->f->env, &w->f->view[OUTER], &key);
		if (!inner)
			continue;
		inner -= GPUBPF_PTR_MAP;
		if (inner >= INNER || (w->strict && inner != key % INNER && inner != (key + 1) % INNER)) {
			w->wrong++;
			continue;
		}
		address = gpubpf_host_lookup(&w->f->env, &w->f->view[inner], &index);
		w->wrong += !address;
		if (address)
			gpubpf_add_u64(address, 1);
		w->counted[inner]++;
	}
	return NULL;
}

static void test_elements(uint32_t type, uint64_t seed)
{
	const char *name = gpubpf_map_type_find(type)->name;
	uint64_t wrong = 0, counted = 0, lost = 0;
	struct worker w[THREADS];
	struct fixture f;

	fixture_begin(&f);
	for (uint32_t i = 0; i <= PROTOTYPE; i++)
		fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, ROOM, i == PROTOTYPE ? GPUBPF_USE_LOOKUP | GPUBPF_USE_ADD | GPUBPF_USE_ADD8 : 0);
	f.maps[PROTOTYPE].prototype = true;
	fixture_map(&f, type, 4, 4, ROOM, GPUBPF_USE_LOOKUP);
	f.maps[OUTER].inner = PROTOTYPE + 1;
	if (!ok(!fixture_ready(&f), "%s: layout", name))
		return;
	run(w, &f, type == BPF_MAP_TYPE_ARRAY_OF_MAPS, seed, use_element);
	for (uint32_t m = 0; m < INNER; m++) {
		uint64_t sum = 0, value, adds = 0;

		for (uint32_t i = 0; i < ROOM; i++)
			sum += gpubpf_map_lookup(&f.view[m], &i, &value) ? 0 : value;
		for (uint32_t i = 0; i < THREADS; i++)
			adds += w[i].counted[m];
		lost += sum != adds;
		counted += adds;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		wrong += w[i].wrong;
	ok(!wrong && !lost, "%s: %llu adds to elements that come and go, each where it was to be", name,
	   (unsigned long long)counted);
	fixture_end(&f);
}

/*
 * Launch with random stacks: bpf_get_stackid() returns the stack's bucket, or -EEXIST if the bucket holds an earlier
 * stack.
 */
static void *launch(void *arg)
{
	struct worker *w = arg;
	const struct gpubpf_map_layout *l = w->f->view[0].layout;

	pthread_barrier_wait(w->begin);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t number = random_next(&w->seed) % STACKS + 1;
		struct gpubpf_env env = { .arena = w->f->env.arena, .pid_tgid = number << GPUBPF_LAUNCH_LOW };
		s64 id = gpubpf_stack_trace_stackid(&env, GPUBPF_LAYOUT_PASS(l), BPF_F_USER_STACK);

		if (id == -EEXIST)
			w->wrong += !w->found[number % BUCKETS] && !gpubpf_load_u64(env.arena + l->data + 8 * (number % BUCKETS));
		else if (id != (s64)(number % BUCKETS) || (w->found[id] && w->found[id] != number))
			w->wrong++;
		else
			w->found[id] = number;
	}
	return NULL;
}

static void test_stacks(uint64_t seed)
{
	uint64_t wrong = 0, differ = 0;
	struct worker w[THREADS];
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_STACK_TRACE, 4, 8, BUCKETS, GPUBPF_USE_UPDATE);
	if (!ok(!fixture_ready(&f), "STACK_TRACE: layout"))
		return;
	run(w, &f, true, seed, launch);
	for (uint32_t i = 0; i < THREADS; i++) {
		wrong += w[i].wrong;
		for (uint32_t b = 0; b < BUCKETS; b++)
			differ += w[i].found[b] && w[i].found[b] != gpubpf_load_u64(f.env.arena + f.layout.maps[0].data + 8 * b);
	}
	ok(!wrong && !differ, "STACK_TRACE: an id is one stack's, whoever asks");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_elements(BPF_MAP_TYPE_ARRAY_OF_MAPS, seed);
	test_elements(BPF_MAP_TYPE_HASH_OF_MAPS, seed + 2);
	test_stacks(seed + 4);
	return done();
}
