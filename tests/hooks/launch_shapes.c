/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the check whether a twin fits the device. Each thread asks for its own launch shape while others ask for
 * theirs.
 */
#include <pthread.h>

#include "hooks/launch/launch.h"
#include "tests/tap.h"

enum { LAUNCHES = 400000, UNITS = 4 };

struct shape {
	uint32_t threads, shared;
	int blocks[2];           /* blocks per multiprocessor: of the original kernel, of its twin */
	uint64_t grid;
	bool fits;
	int part;
};

static const struct shape shapes[] = {
	{ 64, 0, { 32, 32 }, 128, true },
	/* the device runs all blocks of the original at once, but not all blocks of the twin */
	{ 64, 4096, { 32, 4 }, 128, false },
	{ 64, 8192, { 32, 4 }, 129, true },
	{ 64, 16384, { 32, 4 }, 16, true },
	{ 128, 0, { 16, 0 }, 1, false },
	{ 256, 0, { 300, 299 }, 1200, false }, /* too many blocks for the fields of the cache of shapes */
	{ 70000, 0, { 1, 1 }, 1, true },
	{ 64, 65536, { 32, 4 }, 8, true, 2 },  /* part 2: the launch may use only two of the four multiprocessors */
	{ 64, 65537, { 32, 4 }, 9, false, 2 },
	{ 64, 65538, { 32, 4 }, 65, true, 2 },
	{ 64, 65539, { 32, 4 }, 4, true, -1 },
	{ 64, 65540, { 32, 4 }, 5, false, -1 },
};

enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

static struct gpubpf_hook_fit fit = { .units = UNITS };

static int blocks(const void *call, bool twin, int *n)
{
	const struct shape *s = call;

	*n = s->blocks[twin];
	return 0;
}

static int part(const void *call)
{
	const struct shape *s = call;

	return s->part;
}

static bool right(const struct shape *s)
{
	return gpubpf_hook_fits(&fit, s->grid, s->threads, s->shared, blocks, part, s) == s->fits;
}

static void *launch(void *arg)
{
	uintptr_t at = (uintptr_t)arg, wrong = 0;

	for (int i = 0; i < LAUNCHES; i++)
		wrong += !right(&shapes[(at + i / 3) % SHAPES]);
	return (void *)wrong;
}

static int refuse(const void *call, bool twin, int *n)
{
	return 1;
}

int main(void)
{
	pthread_t thread[4];
	uintptr_t all = 0;

	for (int i = 0; i < SHAPES; i++)
		ok(right(&shapes[i]) && right(&shapes[i]), "shape %d, asked and kept", i);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, launch, (void *)(i * 2));
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(thread[i], &wrong);
		all += (uintptr_t)wrong;
	}
	ok(!all, "threads with shapes of their own: %lu of %d answers wrong", (unsigned long)all, 4 * LAUNCHES);
	ok(!gpubpf_hook_fits(&fit, 1, 1, 0, refuse, NULL, NULL), "a runtime that does not say");
	return done();
}
