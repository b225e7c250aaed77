/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the comparison of random programs' results on a device with the interpreter's results. The comparison decodes
 * the arenas: a record in a warp's batch equals a record without a batch header. It must name map, key and value of a
 * difference.
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

#include "cli/conformance/random/random.h"
#include "core/lower/lower.h"
#include "core/model/diag.h"
#include "maps/host/host.h"
#include "tests/tap.h"

#define PROGRAMS 128 /* enough programs that together they use all maps */

static struct random_group group;
static void *host, *device;
static uint64_t value[GEN_VALUE / 8];

static struct gpubpf_map_view view(void *arena, uint32_t map)
{
	return (struct gpubpf_map_view){ arena, &group.maps[map], &group.layout.maps[map] };
}

/* Write one record of size bytes into the ring buffer, as a warp's batch or as a single record. */
static void write_record(void *arena, uint32_t map, bool batch, const void *data, uint32_t size)
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
			write_record(host, rings[i], false, value, size);
			write_record(device, rings[i], true, value, size);
		}
	expect("nothing");
	write_record(host, GEN_RING, false, value, 24);
	write_record(device, GEN_RING, true, value, 24);
	write_record(host, GEN_RING, false, value, 24);
	value[2] = 0x2211;
	write_record(device, GEN_RING, true, value, 24);
	expect("map ring, record 1, byte 16: 0x2211, not 0x1111111111111111");
	write_record(host, GEN_PERF, false, value, 24);
	write_record(device, GEN_PERF, true, value, 25);
	expect("map perf, record 0: 25 bytes, not 24");
	write_record(host, GEN_GPURING, false, value, 24);
	expect("map gpuring: 0 records on the device, 1 on the interpreter");
	for (int i = 0; i < 100; i++)
		write_record(host, GEN_SMALL, false, value, 8);
	for (int i = 0; i < 99; i++)
		write_record(device, GEN_SMALL, false, value, 8);
	expect("map small: drops on the device 67, on the interpreter 68");
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
	expect("map queue: 1 values on the device, 2 on the interpreter");
	*(uint64_t *)((char *)device + group.layout.maps[GEN_THREAD].data + 3 * group.layout.maps[GEN_THREAD].copy_stride) = 9;
	expect("map thread, key 0, copy 3, byte 0: 0x9, not 0x0");
	for (uint32_t i = 0; i < 2; i++) {
		v = view(i ? device : host, GEN_LONG_HASH);
		gpubpf_map_update(&v, (uint32_t[GEN_MAX_KEY_BYTES / 4]){ 7, 0, 5 + i }, value, 0);
	}
	expect("map longhash has key 7 only on the interpreter");
	v = view(device, GEN_LRU);
	update(device, GEN_LRU, 3);
	key = 3;
	gpubpf_map_delete(&v, &key);
	snprintf(words, sizeof(words), "map lru has equal values, but its internal data differs from byte 128 of %u on",
		 (unsigned)group.layout.maps[GEN_LRU].size);
	expect(words);
}

/* A ring buffer counts as a map that the program uses even if the program only calls bpf_ringbuf_query() on it. */
static void test_requested_ring(void)
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

/*
 * Returns true for a helper that no random program calls (cli/conformance/random/calls.c has the reasons), and for
 * bpf_tail_call(), whose number the load changes.
 */
static bool is_excluded(uint32_t id)
{
	static const uint32_t clocks[] = { 5, 502, 524 }, of_kernels[] = { 27, 507, 530 }, made[] = { 12 };
	/* the data buffer of direct runs, for which tests/core/session/direct_random.c runs programs; and host calls */
	static const uint32_t of_runs[] = { 531, 532, 537 };
	/* stores times, which differ between runs; maps/launches.bpf.c and tests/maps/kinds/launches.c test it */
	const uint32_t launch_mark = 539;
	/* helpers of dynptrs; rings/dynptr.bpf.c and cases of tests/core/verify test them */
	bool is_dynptr = (id >= 197 && id <= 203) || (id >= 546 && id <= 548);
	bool found = id == made[0] || id == launch_mark || is_dynptr;

	for (size_t i = 0; i < 3; i++)
		found |= id == clocks[i] || id == of_kernels[i] || id == of_runs[i];
	return found;
}

/* Kinds of memory that an argument of a helper can point to. */
enum { ON_STACK, IN_DATA, IN_TEXT, IN_VALUE, IN_RECORD, NWHERE };
static const char *const where_names[NWHERE] = { "the stack", "global data", "constant data", "a map's value", "a record" };

static struct {
	bool helper[1024], given[GPUBPF_ARGS][NWHERE], map[GEN_NMAPS];
	uint32_t direct;
} called;

static int where(const struct gpubpf_access *a)
{
	if (a->spaces == GPUBPF_SPACE_MAP_VALUE)
		return a->map == GEN_DATA ? IN_DATA : a->map == GEN_TEXT ? IN_TEXT : IN_VALUE;
	return a->spaces == GPUBPF_SPACE_STACK ? ON_STACK : a->spaces == GPUBPF_SPACE_RECORD ? IN_RECORD : -1;
}

static void note_call(const struct gpubpf_map *maps, const struct gpubpf_insn *insn, const struct gpubpf_call_facts *call)
{
	const struct gpubpf_helper *h = gpubpf_helper_find((uint32_t)insn->imm);

	called.helper[h->id & 1023] = true;
	if (call->map >= 0)
		called.map[call->map] = true;
	called.direct += call->map >= 0 && gpubpf_is_direct(h, &maps[call->map], GPUBPF_SIZE_VALUE, &call->arg[2]);
	for (int i = 0; i < 5; i++)
		if (where(&call->arg[i]) >= 0)
			called.given[h->arg[i]][where(&call->arg[i])] = true;
}

static void note_program(const struct random_program *program)
{
	static struct random_group one;
	struct gpubpf_diag diag;
	const struct gpubpf_prog *prog;

	gpubpf_diag_init(&diag);
	if (random_group_init(&one, &program, 1, &diag) < 0)
		return;
	prog = &one.progs[0];
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_CALL && prog->facts->insn[pc].call)
			note_call(one.maps, &prog->insns[pc], prog->facts->insn[pc].call);
	random_group_finish(&one);
}

/*
 * Check that verified random programs call every deterministic helper, on every map. Pointer arguments must occur with
 * each kind of memory that the helper accepts.
 */
static void helpers(void)
{
	static const struct {
		enum gpubpf_arg arg;
		const char *name;
		uint32_t where; /* a bit per kind */
	} given[] = {
		{ GPUBPF_ARG_MAP_KEY, "a key", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_VALUE | 1 << IN_RECORD },
		{ GPUBPF_ARG_MAP_VALUE, "a value", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_TEXT | 1 << IN_VALUE | 1 << IN_RECORD },
		{ GPUBPF_ARG_MAP_VALUE_OUT, "room for a value", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_VALUE },
		{ GPUBPF_ARG_MEM_RD, "memory", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_TEXT | 1 << IN_VALUE },
		{ GPUBPF_ARG_MEM_WR, "room", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_VALUE },
		{ GPUBPF_ARG_U64_OUT, "room for a number", 1 << ON_STACK | 1 << IN_DATA | 1 << IN_VALUE },
	};
	static struct random_program program;
	static struct gpubpf_map maps[GEN_NMAPS];
	const struct gpubpf_helper *h;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		random_make(seed, GEN_ALL, &program);
		note_program(&program);
	}
	for (size_t i = 0; (h = gpubpf_helper_at(i)); i++)
		if (gpubpf_helper_runs(h))
			ok(called.helper[h->id & 1023] != is_excluded(h->id), "helper %u, %s, is %s", h->id, h->name,
			   is_excluded(h->id) ? "not called" : "called");
	gen_maps(maps);
	for (uint32_t m = 0; m < GEN_NMAPS; m++)
		if (m != GEN_DATA && m != GEN_TEXT && (m < GEN_INNER_HASH || m > GEN_LIKE_ARRAY))
			ok(called.map[m], "helpers are given the map %s", maps[m].name);
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		for (int w = 0; w < NWHERE; w++)
			if (given[i].where >> w & 1)
				ok(called.given[given[i].arg][w], "%s is given in %s", given[i].name, where_names[w]);
	ok(called.direct > 50, "%u updates with values of more than %u bytes of other maps", called.direct, GPUBPF_DIRECT_MIN_BYTES);
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
	test_requested_ring();
	free(host);
	free(device);
	random_group_finish(&group);
	return done();
}
