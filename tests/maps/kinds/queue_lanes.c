/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests queues that are inner maps (maps/kinds/queue.h), used by a warp whose lanes have one of two queues. A lane may
 * only claim entries for lanes with the same queue. The emulator runs the lanes in turn: each gets the recorded results
 * of the first lane with the same queue.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LANES 0xffu
#define LANES_WITH(key) lanes_with(key)
#define GPUBPF_COMBINES_ADDS 1 /* 1: each lane adds for itself only */
static uint32_t lanes_with(uint64_t address);
#include "tests/maps/lanes.h"

#define NLANES 8
#define CALLS 16

static uint64_t told[NLANES][CALLS]; /* results of lane operations, recorded by the first lane of each queue */
static uint32_t ntold, me;

static inline uint64_t gpubpf_warp_from(uint32_t peers, uint64_t value, uint32_t lane)
{
	(void)peers;
	if (ntold == CALLS) {
		printf("Bail out! lane %u goes round and round\n", me);
		exit(1);
	}
	if (lane == me)
		told[lane][ntold] = value;
	return told[lane][ntold++];
}

#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define QUEUES 2
#define ENTRIES 16

static struct fixture f;

/* Returns the mask of the lanes whose queue is at this address. */
static uint32_t lanes_with(uint64_t address)
{
	return address - f.env.arena < f.layout.maps[1].ctl ? 0x55 : 0xaa;
}

static const struct gpubpf_map_layout *queue_of(uint32_t lane)
{
	return &f.layout.maps[lane % QUEUES];
}

static bool run(uint32_t lane, bool push, uint64_t *value)
{
	struct gpubpf_host_thread where = { .dims = 1, .lane = lane };
	struct gpubpf_map_layout l = *queue_of(lane);
	int64_t ret;

	me = lane;
	ntold = 0;
	l.flags |= GPUBPF_LAYOUT_ELEMENT;
	gpubpf_host_thread_set(&where);
	ret = push ? gpubpf_queue_push(&f.env, GPUBPF_LAYOUT_PASS(&l), (u8 *)value, BPF_ANY) :
		     gpubpf_queue_pop(&f.env, GPUBPF_LAYOUT_PASS(&l), (u8 *)value);
	if (ret)
		printf("# lane %u: %lld\n", lane, (long long)ret);
	return ret == 0;
}

static void test_push(void)
{
	uint32_t bad = 0;
	uint64_t value;

	for (uint32_t lane = 0; lane < NLANES; lane++) {
		value = 100 + lane;
		bad += !run(lane, true, &value);
	}
	ok(!bad, "each lane puts its number into its queue");
	for (uint32_t i = 0; i < NLANES; i++)
		bad += gpubpf_map_lookup_and_delete(&f.view[i % QUEUES], NULL, &value) || value != 100 + i;
	ok(!bad, "where it is found");
	for (uint32_t i = 0; i < QUEUES; i++) {
		uint32_t room = 0;

		bad += !gpubpf_map_lookup_and_delete(&f.view[i], NULL, &value);
		while (!gpubpf_map_update(&f.view[i], NULL, &value, BPF_ANY))
			room++;
		ok(!bad && room == ENTRIES, "and nothing else: there is room for %u", room);
		while (!gpubpf_map_lookup_and_delete(&f.view[i], NULL, &value))
			;
	}
}

static void test_pop(void)
{
	uint32_t bad = 0;
	uint64_t value;

	for (uint64_t i = 0; i < NLANES; i++)
		bad += gpubpf_map_update(&f.view[i % QUEUES], NULL, &i, BPF_ANY) != 0;
	for (uint32_t lane = 0; lane < NLANES; lane++)
		bad += !run(lane, false, &value) || value != lane;
	ok(!bad, "each lane takes one out of its queue");
}

int main(void)
{
	fixture_begin(&f);
	for (uint32_t i = 0; i < QUEUES; i++)
		fixture_map(&f, BPF_MAP_TYPE_QUEUE, 0, sizeof(uint64_t), ENTRIES, 0);
	if (ok(fixture_ready(&f) == 0, "layout")) {
		test_push();
		test_pop();
	}
	fixture_end(&f);
	return done();
}
