/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests stacks (maps/kinds/stack.h) that are used by warps whose lanes claim together. A thread stands in for a lane.
 * At each convergence point, the lanes of a warp that have not ended wait for each other. The content after one warp is
 * compared with the expected values. Then many warps run at once: each value must be popped once and intact.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LANES 8u
#define GPUBPF_HAS_WARP
#define GPUBPF_COMBINES_ADDS 1 /* 1: each lane adds for itself only */

struct warp {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint32_t alive, here, phase, seen; /* seen: mask of the lanes that took part in the last phase */
	uint64_t value[LANES];
};

static __thread struct warp *warp;
static __thread uint32_t me;

static void end_phase(struct warp *w)
{
	w->seen = w->alive;
	w->here = 0;
	w->phase++;
	pthread_cond_broadcast(&w->cond);
}

/* Wait until all lanes that have not ended are here. Returns their mask. */
static uint32_t wait_for_lanes(void)
{
	struct warp *w = warp;
	uint32_t phase, seen;

	pthread_mutex_lock(&w->lock);
	phase = w->phase;
	w->here |= 1u << me;
	if (w->here == w->alive)
		end_phase(w);
	while (w->phase == phase)
		pthread_cond_wait(&w->cond, &w->lock);
	seen = w->seen;
	pthread_mutex_unlock(&w->lock);
	return seen;
}

static void leave(void)
{
	struct warp *w = warp;

	pthread_mutex_lock(&w->lock);
	w->alive &= ~(1u << me);
	if (w->alive && w->here == w->alive)
		end_phase(w);
	pthread_mutex_unlock(&w->lock);
}

static inline uint32_t gpubpf_warp_count(uint32_t mask)
{
	return (uint32_t)__builtin_popcount(mask);
}

static inline uint32_t gpubpf_warp_first(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

static inline uint32_t gpubpf_warp_one(uint32_t mask)
{
	return gpubpf_warp_first(mask);
}

static inline uint32_t gpubpf_warp_active(void)
{
	return wait_for_lanes();
}

static inline uint64_t gpubpf_warp_from(uint32_t lanes, uint64_t value, uint32_t lane)
{
	(void)lanes;
	warp->value[me] = value;
	wait_for_lanes();
	value = warp->value[lane];
	wait_for_lanes();
	return value;
}

static inline uint32_t gpubpf_warp_ballot(uint32_t lanes, uint32_t bit)
{
	uint32_t mask = 0;

	warp->value[me] = bit;
	wait_for_lanes();
	for (uint32_t i = 0; i < LANES; i++)
		mask |= lanes >> i & warp->value[i] & 1 ? 1u << i : 0;
	wait_for_lanes();
	return mask;
}

static inline void gpubpf_warp_sync(uint32_t lanes)
{
	(void)lanes;
	wait_for_lanes();
}

static inline uint32_t gpubpf_warp_same(uint64_t key)
{
	(void)key;
	return 1u << me;
}

static inline uint32_t gpubpf_warp_peers(uint64_t key)
{
	return gpubpf_warp_same(key);
}

#include <errno.h>
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define WARPS 3
#define ROUNDS 150
#define ENTRIES 21

struct item {
	uint32_t number, again; /* again: the complement of number */
};

struct lane {
	struct warp *warp;
	uint32_t lane, number, npopped;
	struct gpubpf_host_thread where;
	uint32_t popped[ROUNDS * 2];
	struct item item;
	int64_t ret;
	uint64_t flags, seed;
	bool torn;
	void (*does)(struct lane *l);
	pthread_t thread;
};

static struct fixture f;
static struct warp warps[WARPS];
static struct lane lanes[WARPS][LANES];
static pthread_barrier_t rounds[WARPS];

static void pushes(struct lane *l)
{
	l->ret = gpubpf_stack_push(&f.env, GPUBPF_LAYOUT_PASS(f.layout.maps), (u8 *)&l->item, l->flags);
}

static void pops(struct lane *l)
{
	l->ret = gpubpf_stack_pop(&f.env, GPUBPF_LAYOUT_PASS(f.layout.maps), (u8 *)&l->item);
}

static void be_lane(struct lane *l)
{
	warp = l->warp;
	me = l->lane;
	l->where = (struct gpubpf_host_thread){ .dims = 1, .lane = me };
	gpubpf_host_thread_set(&l->where);
}

static void *run_lane(void *arg)
{
	struct lane *l = arg;

	be_lane(l);
	l->does(l);
	leave();
	return NULL;
}

/* Run does() in the lanes of mask at once; lane i uses the number first + i. */
static void together(uint32_t mask, void (*does)(struct lane *l), uint32_t first, uint64_t flags)
{
	warps[0].alive = mask;
	for (uint32_t i = 0; i < LANES; i++) {
		struct lane *l = &lanes[0][i];

		*l = (struct lane){ .warp = &warps[0], .lane = i, .flags = flags, .does = does, .item = { first + i, ~(first + i) } };
		if (mask >> i & 1)
			pthread_create(&l->thread, NULL, run_lane, l);
	}
	for (uint32_t i = 0; i < LANES; i++)
		if (mask >> i & 1)
			pthread_join(lanes[0][i].thread, NULL);
}

static bool begin(uint32_t entries)
{
	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_STACK, 0, sizeof(struct item), entries, 0);
	for (uint32_t w = 0; w < WARPS; w++) {
		pthread_mutex_init(&warps[w].lock, NULL);
		pthread_cond_init(&warps[w].cond, NULL);
	}
	return ok(fixture_ready(&f) == 0, "layout");
}

static void check(const char *what, uint32_t mask, const int64_t *ret, const uint32_t *number)
{
	bool good = true;

	for (uint32_t i = 0; i < LANES; i++) {
		struct lane *l = &lanes[0][i];

		if (!(mask >> i & 1))
			continue;
		good &= l->ret == ret[i] && (!number || ret[i] || (l->item.number == number[i] && l->item.again == ~number[i]));
		if (!good) {
			printf("# lane %u: %lld, %u\n", i, (long long)l->ret, l->item.number);
			break;
		}
	}
	ok(good, "%s", what);
}

/* One warp: the values are in the order of the lanes, and the last ones are missing if the stack is full. */
static void test_order(void)
{
	static const int64_t all[LANES];
	static const int64_t five[LANES] = { 0, 0, 0, 0, 0, -ENOENT, -ENOENT, -ENOENT };
	u64 word;

	if (!begin(11))
		return;
	together(0xff, pushes, 100, BPF_ANY);
	check("all lanes push", 0xff, all, NULL);
	word = gpubpf_load_u64(f.env.arena + f.layout.maps[0].ctl + GPUBPF_STACK_WORD);
	ok(word == (1ull << 33 | 8), "by one claim: %llx", (unsigned long long)word);
	together(0x07, pops, 0, 0);
	check("three pop the newest, the first lane first", 0x07, all, (uint32_t[]){ 107, 106, 105 });
	together(0xf1, pushes, 200, BPF_ANY);
	check("five push", 0xf1, all, NULL);
	together(0x0b, pushes, 300, BPF_ANY);
	check("one finds room, two find none", 0x0b, (int64_t[LANES]){ 0, -E2BIG, 0, -E2BIG }, NULL);
	ok(gpubpf_map_drops(&f.view[0]) == 2, "which are counted");
	together(0xff, pops, 0, 0);
	check("all pop", 0xff, all, (uint32_t[]){ 300, 207, 206, 205, 204, 200, 104, 103 });
	together(0xff, pushes, 400, BPF_EXIST);
	check("all push", 0xff, all, NULL);
	together(0x3f, pushes, 500, BPF_EXIST);
	check("where there is no room in place of the oldest", 0x3f, all, NULL);
	for (uint32_t i = 0; i < 6; i++) /* leave five */
		together(0x01, pops, 0, 0);
	together(0xff, pops, 0, 0);
	check("five are left, of which the oldest is the last", 0xff, five, (uint32_t[]){ 407, 406, 405, 404, 403 });
	fixture_end(&f);
}

/* A reader holds a cell: lanes before that cell continue, and the others do so after its release. */
static u64 there_while_held;

static void *release_cell(void *arg)
{
	u64 cell = (u64)(uintptr_t)arg;

	for (int i = 0; i < 10000 && (u32)gpubpf_load_u64(f.env.arena + f.layout.maps[0].ctl + GPUBPF_STACK_WORD) < 3; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	there_while_held = (u32)gpubpf_load_u64(f.env.arena + f.layout.maps[0].ctl + GPUBPF_STACK_WORD);
	gpubpf_store_release_u32(cell, 2);
	return NULL;
}

static void test_held(void)
{
	static const int64_t all[LANES];
	pthread_t other;
	u64 cell;

	if (!begin(11))
		return;
	cell = gpubpf_stack_cell_at(&f.env, GPUBPF_LAYOUT_PASS(f.layout.maps), 3);
	gpubpf_store_u32(cell, 1);
	pthread_create(&other, NULL, release_cell, (void *)(uintptr_t)cell);
	together(0xff, pushes, 100, BPF_ANY);
	pthread_join(other, NULL);
	check("a cell that is still read holds up the lanes behind it", 0xff, all, NULL);
	if (!ok(there_while_held <= 3, "and not those before it: %llu", (unsigned long long)there_while_held))
		exit(done()); /* exit, since the following steps would wait forever */
	ok(gpubpf_load_u64(f.env.arena + f.layout.maps[0].ctl + GPUBPF_STACK_WORD) == (2ull << 33 | 8), "by two claims");
	together(0xff, pops, 0, 0);
	check("and all come out", 0xff, all, (uint32_t[]){ 107, 106, 105, 104, 103, 102, 101, 100 });
	fixture_end(&f);
}

/* The lanes of a warp run many rounds; in each round some lanes push and the others pop. */
static void *run_randomly(void *arg)
{
	struct lane *l = arg;
	pthread_barrier_t *round = &rounds[l->warp - warps];

	be_lane(l);
	for (uint32_t r = 0; r < ROUNDS; r++) {
		bool push = random_next(&l->seed) >> 40 & 1;

		for (int side = 0; side < 2; side++) { /* first the pushing lanes run together, then the popping lanes */
			pthread_barrier_wait(round);
			__atomic_store_n(&l->warp->alive, 0, __ATOMIC_RELAXED);
			pthread_barrier_wait(round);
			if (push == !side)
				__atomic_fetch_or(&l->warp->alive, 1u << me, __ATOMIC_RELAXED);
			pthread_barrier_wait(round);
			if (push != !side)
				continue;
			l->item = (struct item){ l->number, ~l->number };
			push ? pushes(l) : pops(l);
			leave();
			if (!push && !l->ret) {
				l->torn |= l->item.again != ~l->item.number;
				l->popped[l->npopped++] = l->item.number;
			}
			l->number += push && !l->ret;
			l->torn |= l->ret && l->ret != (push ? -E2BIG : -ENOENT);
		}
	}
	return NULL;
}

static void test_many(uint64_t seed)
{
	static uint8_t came[WARPS * LANES][ROUNDS];
	uint32_t in = 0, out = 0, wrong = 0;
	struct item item;

	if (!begin(ENTRIES))
		return;
	for (uint32_t n = 0; n < WARPS * LANES; n++) {
		struct lane *l = &lanes[n / LANES][n % LANES];

		if (n % LANES == 0)
			pthread_barrier_init(&rounds[n / LANES], NULL, LANES);
		*l = (struct lane){ .warp = &warps[n / LANES], .lane = n % LANES, .number = n * ROUNDS, .seed = seed + 2 * n };
		pthread_create(&l->thread, NULL, run_randomly, l);
	}
	for (uint32_t n = 0; n < WARPS * LANES; n++) {
		struct lane *l = &lanes[n / LANES][n % LANES];

		pthread_join(l->thread, NULL);
		in += l->number - n * ROUNDS;
		wrong += l->torn;
		for (uint32_t i = 0; i < l->npopped; i++, out++)
			wrong += l->popped[i] >= sizeof(came) || came[0][l->popped[i]]++;
	}
	while (!gpubpf_map_lookup_and_delete(&f.view[0], NULL, &item)) {
		wrong += item.number >= sizeof(came) || came[0][item.number]++;
		out++;
	}
	ok(in == out && in > 100 && !wrong, "%u lanes at once: %u values in, %u out, %u wrong", WARPS * LANES, in, out, wrong);
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_order();
	test_held();
	test_many(seed);
	return done();
}
