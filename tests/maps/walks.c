/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations over hash tables while other threads write must visit each permanent key once, with a value that the key
 * had.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "fixture.h"
#include "tests/tap.h"

#define STAY 200
#define ROOM 1024
#define WALKS 300
#define WRITERS 2

struct work {
	struct fixture *f;
	uint64_t seed;
	bool *over;
};

/* Inserts and deletes temporary keys, and changes the values of permanent ones. */
static void *write_all(void *arg)
{
	struct work *w = arg;

	while (!__atomic_load_n(w->over, __ATOMIC_ACQUIRE)) {
		uint64_t r = random_next(&w->seed), key = r & 1 ? r >> 8 & 0xff : STAY + (r >> 8) % 600, value = key << 8 | (r >> 56);

		if (key >= STAY && r & 2)
			gpubpf_map_delete(&w->f->view[0], &key);
		else
			gpubpf_map_update(&w->f->view[0], &key, &value, BPF_ANY);
	}
	return NULL;
}

static uint64_t walk(const struct gpubpf_map_view *view)
{
	uint64_t cursor = 0, key, value, wrong = 0;
	uint8_t seen[STAY] = { 0 };

	while (gpubpf_map_iterate(view, &cursor, &key, &value) == 0) {
		wrong += value >> 8 != key;
		if (key < STAY)
			seen[key]++;
	}
	for (uint32_t i = 0; i < STAY; i++)
		wrong += seen[i] != 1;
	return wrong;
}

static void check(uint32_t type, const char *name, uint64_t seed)
{
	pthread_t thread[WRITERS];
	struct work w[WRITERS];
	uint64_t wrong = 0;
	struct fixture f;
	bool over = false;

	fixture_begin(&f);
	fixture_map(&f, type, 8, 8, ROOM, GPUBPF_USE_DELETE);
	if (!ok(fixture_ready(&f) == 0, "%s: layout", name))
		return;
	for (uint64_t key = 0; key < STAY; key++)
		gpubpf_map_update(&f.view[0], &key, &(uint64_t){ key << 8 }, BPF_ANY);
	for (uint32_t i = 0; i < WRITERS; i++) {
		w[i] = (struct work){ .f = &f, .seed = seed + i, .over = &over };
		pthread_create(&thread[i], NULL, write_all, &w[i]);
	}
	for (int i = 0; i < WALKS; i++)
		wrong += walk(&f.view[0]);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	ok(!wrong, "%s: %d walks beside %d writers: keys that stay come once, with their values; %llu did not", name, WALKS, WRITERS,
	   (unsigned long long)wrong);
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	check(BPF_MAP_TYPE_HASH, "HASH", seed);
	check(1501, "GPU_HASH", seed + 100);
	return done();
}
