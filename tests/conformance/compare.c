/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random programs leave on a device is compared as readers see it: a record that a warp put out (one lane of which is
 * emulated) is the same as one without a header of a batch. What differs is told by map, key and value.
 */
#define LANES 1u
#include "tests/maps/lanes.h"

static inline uint64_t gpubpf_warp_from(uint32_t peers, uint64_t value, uint32_t lane)
{
	(void)peers;
	(void)lane;
	return value;
}

#include <stdlib.h>
#include <string.h>

#include "cli/conformance/random.h"
#include "core/diag.h"
#include "maps/host.h"
#include "tests/tap.h"

#define PROGRAMS 128 /* together they use all maps */

static struct random_group group;
static void *host, *device;
static uint64_t value[GEN_VALUE / 8];

static struct gpubpf_map_view view(void *arena, uint32_t map)
{
	return (struct gpubpf_map_view){ arena, &group.maps[map], &group.layout.maps[map] };
}

/* One record of `size` bytes, with others of its warp or without. */
static void put(void *arena, uint32_t map, bool batch, const void *data, uint32_t size)
{
	const struct gpubpf_map_layout *l = &group.layout.maps[map];
	struct gpubpf_env env = { .arena = (uintptr_t)arena };

	if (batch)
		gpubpf_ring_batch_of(&env, GPUBPF_LAYOUT_PASS(l), 1, 0, data, size);
	else
		gpubpf_ring_single(&env, GPUBPF_LAYOUT_PASS(l), data, size);
}

static void print(void *arena, const char *text, uint64_t number)
{
	const struct gpubpf_map_layout *l = &group.layout.prints;
	struct gpubpf_env env = { .arena = (uintptr_t)arena, .launch = 5 };

	gpubpf_helper_trace_printk(&env, GPUBPF_LAYOUT_PASS(l), 0, (const u8 *)text, strlen(text) + 1, number, 0, 0);
}

static void update(void *arena, uint32_t map, uint32_t key)
{
	struct gpubpf_map_view v = view(arena, map);

	gpubpf_map_update(&v, v.map->key_size ? &key : NULL, value, 0);
}

static void begin(void)
{
	random_reset(&group, 0, host);
	random_reset(&group, 0, device);
	memset(value, 0x11, sizeof(value));
}

static void expect(const char *what)
{
	char got[256] = "nothing";

	random_differs(&group, host, device, true, got, sizeof(got));
	ok(!strcmp(got, what), "%s: %s", what, got);
	begin();
}

static void records(void)
{
	static const uint32_t rings[] = { GEN_RING, GEN_PERF, GEN_GPURING };

	for (size_t i = 0; i < 3; i++)
		for (uint32_t size = 1; size <= GEN_VALUE; size += 21) {
			put(host, rings[i], false, value, size);
			put(device, rings[i], true, value, size);
		}
	expect("nothing");
	put(host, GEN_RING, false, value, 24);
	put(device, GEN_RING, true, value, 24);
	put(host, GEN_RING, false, value, 24);
	value[2] = 0x2211;
	put(device, GEN_RING, true, value, 24);
	expect("map ring, record 1, byte 16: 0x2211, not 0x1111111111111111");
	put(host, GEN_PERF, false, value, 24);
	put(device, GEN_PERF, true, value, 25);
	expect("map perf, record 0: 25 bytes, not 24");
	put(host, GEN_GPURING, false, value, 24);
	expect("map gpuring: 0 records for readers, not 1");
	for (int i = 0; i < 100; i++)
		put(host, GEN_SMALL, false, value, 8);
	for (int i = 0; i < 99; i++)
		put(device, GEN_SMALL, false, value, 8);
	expect("map small counts 67 drops, not 68");
	print(host, "%d of them", 3);
	print(device, "%d of them", 3);
	expect("nothing");
	print(host, "%d of them", 3);
	print(device, "%d of them", 4);
	expect("print 0 is '0 5 0 0,0,0 0,0,0 4 of them', not '0 5 0 0,0,0 0,0,0 3 of them'");
}

static void values(void)
{
	char words[100];
	uint32_t key = 1;
	struct gpubpf_map_view v;

	update(device, GEN_HASH, 7);
	expect("map hash has key 7 only on the device");
	v = view(device, GEN_HASH);
	gpubpf_map_delete(&v, &key);
	expect("map hash has key 1 only on the interpreter");
	update(host, GEN_ARRAY, 2);
	value[7]++;
	update(device, GEN_ARRAY, 2);
	expect("map array, key 2, byte 56: 0x1111111111111112, not 0x1111111111111111");
	update(host, GEN_QUEUE, 0);
	update(host, GEN_QUEUE, 0);
	update(device, GEN_QUEUE, 0);
	expect("map queue: 1 values for readers, not 2");
	*(uint64_t *)((char *)device + group.layout.maps[GEN_THREAD].data + 3 * group.layout.maps[GEN_THREAD].copy_stride) = 9;
	expect("map thread, key 0, copy 3, byte 0: 0x9, not 0x0");
	v = view(device, GEN_LRU);
	update(device, GEN_LRU, 3);
	key = 3;
	gpubpf_map_delete(&v, &key);
	snprintf(words, sizeof(words), "map lru keeps other words beside the same values, from byte 128 of %u on",
		 (unsigned)group.layout.maps[GEN_LRU].size);
	expect(words);
}

/* A ring whose size is asked for, and nothing else, is one. */
static void asked(void)
{
	static const struct random_program program = { { { 0x18, 0x11, 0, GEN_RING }, { 0 }, { 0xb7, 2, 0, 1 }, { 0x85, 0, 0, 134 },
							  { 0x95, 0, 0, 0 } }, .n = 5 };
	static struct random_group one;
	const struct random_program *list = &program;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	ok(random_group_init(&one, &list, 1, &diag) == 0 && one.maps[GEN_RING].max_entries == GEN_ROOM, "a ring that is asked for");
	random_group_finish(&one);
}

/* Programs that are proven call every helper that gives the same everywhere. */
static void helpers(void)
{
	static const int32_t all[] = { 1, 2, 3, 6, 14, 25, 87, 88, 89, 130, 131, 132, 133, 134, 181, 182, 501, 503, 504, 505, 506,
				       508, 511, 512, 521, 522 };
	static struct random_program program;
	static bool called[1024];

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		random_make(seed, GEN_ALL, &program);
		for (uint32_t i = 0; i < program.n; i++)
			if (program.insns[i].code == 0x85 && !(program.insns[i].regs >> 4))
				called[program.insns[i].imm & 1023] = true;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ok(called[all[i]], "helper %d is called", all[i]);
}

int main(void)
{
	static struct random_program programs[PROGRAMS];
	const struct random_program *list[PROGRAMS];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		random_make(i, GEN_ALL, &programs[i]);
		list[i] = &programs[i];
	}
	if (!ok(random_group_init(&group, list, PROGRAMS, &diag) == 0, "maps are laid out"))
		return done();
	host = aligned_alloc(4096, group.size);
	device = aligned_alloc(4096, group.size);
	begin();
	records();
	values();
	helpers();
	asked();
	free(host);
	free(device);
	random_group_finish(&group);
	return done();
}
