/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests maps of maps with random operations of programs and of bpf(2). The Linux kernel's maps and a program there
 * (BPF_PROG_TEST_RUN) must agree, if bpf(2) is permitted. Also tests which maps may be inner maps, and the layout.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "maps/host/mirror.h"
#include "tests/tap.h"

#define INNER 3
#define ENTRIES 2        /* per inner map */
#define ROOM 4           /* entries of the outer map */
#define KEYS 6
#define OPS 4000

enum { PROTOTYPE = INNER, OUTER };
enum op { ADD, UPDATE, DELETE, LOOKUP, NEXT, NOPS };

/* arguments of an operation; a program reads them from a map */
struct args {
	uint32_t key, index;
	uint64_t value;
};

/* -- ours -- */

static int ours(struct fixture *f, enum op op, const struct args *a, uint32_t *value, uint64_t flags)
{
	const struct gpubpf_map_view *outer = &f->view[OUTER];
	uint32_t number = *value + 1;
	u64 inner, address = 0;
	int err = 0;

	switch (op) {
	case ADD:
		inner = gpubpf_host_lookup(&f->env, outer, &a->key);
		if (inner)
			address = gpubpf_host_lookup(&f->env, &f->view[inner - GPUBPF_PTR_MAP], &a->index);
		if (address)
			gpubpf_add_u64(address, a->value);
		return (inner != 0) + (address != 0);
	case UPDATE: return gpubpf_map_update(outer, &a->key, &number, flags);
	case DELETE: return gpubpf_map_delete(outer, &a->key);
	case LOOKUP:
		err = gpubpf_map_lookup(outer, &a->key, &number);
		*value = err ? *value : number - 1;
		return err;
	case NEXT: return gpubpf_map_next_key(outer, &a->key, value);
	case NOPS: break;
	}
	return err;
}

/* -- the Linux kernel -- */

struct kernel {
	int inner[INNER], outer, args, prog;
	uint32_t id[INNER];
};

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int kernel_map(uint32_t type, uint32_t value_size, uint32_t entries, int inner)
{
	union bpf_attr attr = { .map_type = type, .key_size = 4, .value_size = value_size, .max_entries = entries,
				.inner_map_fd = (uint32_t)inner };

	return bpf(BPF_MAP_CREATE, &attr);
}

static int kernel_element(int cmd, int map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags };

	return bpf(cmd, &attr);
}

static uint32_t kernel_id(int map)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)map, .info_len = sizeof(info), .info = (uintptr_t)&info } };

	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0 ? 0 : info.id;
}

/*
 * Load a program that looks up the key in the outer map and the index in the inner map, and adds to that value. It
 * returns the number of look-ups that succeeded.
 */
static int kernel_prog(const struct kernel *k)
{
	const struct bpf_insn insns[] = {
		{ 0x18, 6, BPF_PSEUDO_MAP_VALUE, 0, k->args }, { 0 }, { 0xb7, 7, 0, 0, 0 },
		{ 0x18, 1, BPF_PSEUDO_MAP_FD, 0, k->outer }, { 0 },
		{ 0xbf, 2, 6, 0, 0 }, { 0x07, 2, 0, 0, offsetof(struct args, key) }, { 0x85, 0, 0, 0, 1 },
		{ 0x15, 0, 0, 9, 0 }, { 0x07, 7, 0, 0, 1 },
		{ 0xbf, 1, 0, 0, 0 }, { 0xbf, 2, 6, 0, 0 }, { 0x07, 2, 0, 0, offsetof(struct args, index) }, { 0x85, 0, 0, 0, 1 },
		{ 0x15, 0, 0, 3, 0 }, { 0x07, 7, 0, 0, 1 },
		{ 0x79, 1, 6, offsetof(struct args, value), 0 }, { 0xdb, 0, 1, 0, 0 },
		{ 0xbf, 0, 7, 0, 0 }, { .code = 0x95 },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)insns,
				.insn_cnt = sizeof(insns) / sizeof(insns[0]), .license = (uintptr_t)"GPL" };

	return bpf(BPF_PROG_LOAD, &attr);
}

static bool kernel_begin(struct kernel *k, uint32_t type)
{
	for (int i = 0; i < INNER; i++) {
		k->inner[i] = kernel_map(BPF_MAP_TYPE_ARRAY, 8, ENTRIES, 0);
		k->id[i] = kernel_id(k->inner[i]);
	}
	k->args = kernel_map(BPF_MAP_TYPE_ARRAY, sizeof(struct args), 1, 0);
	k->outer = kernel_map(type, 4, ROOM, k->inner[0]);
	k->prog = k->outer < 0 ? -1 : kernel_prog(k);
	return k->prog >= 0;
}

static void kernel_end(const struct kernel *k)
{
	const int *fds = (const int *)k;

	for (int i = 0; i < INNER + 3; i++)
		close(fds[i]);
}

static int run_prog(const struct kernel *k, const struct args *a)
{
	char packet[64] = { 0 };
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)k->prog, .data_in = (uintptr_t)packet, .data_size_in = sizeof(packet) } };
	uint32_t zero = 0;

	if (kernel_element(BPF_MAP_UPDATE_ELEM, k->args, &zero, a, 0) || bpf(BPF_PROG_TEST_RUN, &attr))
		return -EIO;
	return (int)attr.test.retval;
}

static int theirs(const struct kernel *k, enum op op, const struct args *a, uint32_t *value, uint64_t flags)
{
	uint32_t found = 0;
	int err;

	switch (op) {
	case ADD: return run_prog(k, a);
	case UPDATE: return kernel_element(BPF_MAP_UPDATE_ELEM, k->outer, &a->key, &k->inner[*value], flags);
	case DELETE: return kernel_element(BPF_MAP_DELETE_ELEM, k->outer, &a->key, NULL, 0);
	case LOOKUP:
		err = kernel_element(BPF_MAP_LOOKUP_ELEM, k->outer, &a->key, &found, 0);
		for (uint32_t i = 0; i < INNER && !err; i++)
			*value = k->id[i] == found ? i : *value;
		return err;
	case NEXT: return kernel_element(BPF_MAP_GET_NEXT_KEY, k->outer, &a->key, value, 0);
	case NOPS: break;
	}
	return -EIO;
}

/* -- comparison -- */

static int begin(struct fixture *f, uint32_t type)
{
	fixture_begin(f);
	for (uint32_t i = 0; i <= PROTOTYPE; i++)
		fixture_map(f, BPF_MAP_TYPE_ARRAY, 4, 8, ENTRIES, i == PROTOTYPE ? GPUBPF_USE_LOOKUP | GPUBPF_USE_ADD | GPUBPF_USE_ADD8 : 0);
	f->maps[PROTOTYPE].prototype = true;
	fixture_map(f, type, 4, 4, ROOM, GPUBPF_USE_LOOKUP);
	f->maps[OUTER].inner = PROTOTYPE + 1;
	f->opts.replicas = 8;
	return fixture_ready(f);
}

static bool agree(struct fixture *f, const struct kernel *k, uint64_t seed, bool table)
{
	for (uint32_t i = 0; i < OPS; i++) {
		struct args a = { (uint32_t)(random_next(&seed) % KEYS), (uint32_t)(random_next(&seed) % (ENTRIES + 1)),
				  random_next(&seed) };
		/* no get_next_key for hash tables, whose order differs */
		enum op op = (enum op)(random_next(&seed) % (table ? NEXT : NOPS));
		uint32_t x = (uint32_t)(random_next(&seed) % INNER), y = x;
		uint64_t flags = random_next(&seed) % 8;
		int ra, rb;

		flags = flags > 3 ? 0 : flags;
		ra = ours(f, op, &a, &x, flags);
		rb = theirs(k, op, &a, &y, flags);
		if (ra != rb || x != y) {
			note("operation %u (%u of key %u, flags %llu): %d and %u, the kernel has %d and %u", i, op, a.key,
			     (unsigned long long)flags, ra, x, rb, y);
			return false;
		}
	}
	return true;
}

static bool same_values(const struct fixture *f, const struct kernel *k)
{
	bool same = true;

	for (uint32_t m = 0; m < INNER; m++)
		for (uint32_t i = 0; i < ENTRIES; i++) {
			uint64_t x = 0, y = 1;

			same &= !gpubpf_map_lookup(&f->view[m], &i, &x) && !kernel_element(BPF_MAP_LOOKUP_ELEM, k->inner[m], &i, &y, 0) &&
				x == y;
		}
	return same;
}

static void test_kernel(uint32_t type, uint64_t seed)
{
	const char *name = gpubpf_map_type_find(type)->name;
	struct kernel k = { 0 };
	struct fixture f;

	if (!ok(begin(&f, type) == 0, "%s: layout", name))
		return;
	if (!kernel_begin(&k, type)) {
		skip("kernel", "bpf(2) is not allowed here: %s", strerror(errno));
	} else {
		ok(agree(&f, &k, seed, type == BPF_MAP_TYPE_HASH_OF_MAPS), "%s: as the Linux kernel's", name);
		ok(same_values(&f, &k), "%s: and the elements hold the same", name);
	}
	kernel_end(&k);
	fixture_end(&f);
}

/*
 * The prototype of the inner maps has no memory. Maps with the same definition get the prototype's layout, with one
 * copy. The arena has a table of all maps that can be inner maps.
 */
static void test_layout(void)
{
	struct fixture f;

	if (!ok(begin(&f, BPF_MAP_TYPE_ARRAY_OF_MAPS) == 0, "layout"))
		return;
	ok(!f.layout.maps[PROTOTYPE].size, "what elements are like takes no memory");
	for (uint32_t i = 0; i < INNER; i++)
		ok(gpubpf_layout_is_compatible(&f.layout.maps[i], &f.layout.maps[PROTOTYPE]) && f.layout.maps[i].copies == 1 &&
		   gpubpf_of_maps_ctl(&f.env, GPUBPF_PTR_MAP + i) == f.layout.maps[i].ctl &&
		   gpubpf_of_maps_data(&f.env, GPUBPF_PTR_MAP + i) == f.layout.maps[i].data, "map %u can be an element", i);
	fixture_end(&f);
	begin(&f, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	fixture_end(&f);
	f.maps[OUTER].inner = 0;
	ok(fixture_ready(&f) == -EINVAL, "one whose elements are like nothing is refused");
}

/* Stands in for a device whose memory holds the byte 1 everywhere. */
static int pull_ones(void *arg, u64 offset, void *to, u64 size)
{
	memset(to, 1, size);
	return 0;
}

static int waited(void *arg, bool all)
{
	return 0;
}

/* A pull copies the device's maps to the mirror, but not the ring buffer for prints, whose reader keeps its state. */
static void test_mirror(void)
{
	struct gpubpf_mirror mirror = { .pull = pull_ones, .wait = waited };
	bool kept = true;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, ROOM, GPUBPF_USE_LOOKUP);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, ENTRIES, 0);
	f.maps[0].inner = 2;
	f.maps[1].prototype = true;
	f.opts.print_bytes = 1 << 16;
	if (!ok(fixture_ready(&f) == 0, "layout of a map of maps and of prints"))
		return;
	mirror.arena = f.arena;
	mirror.size = f.layout.size;
	ok(gpubpf_mirror_pull(&mirror) == 0, "a device's maps are copied");
	for (u64 i = 0; i < f.layout.prints.size; i++)
		kept &= !((char *)f.arena)[f.layout.prints.ctl + i];
	ok(kept, "and not over the ring of prints, which stands where what elements are like would");
	fixture_end(&f);
}

/* The application can write arbitrary bytes into an arena, so a slot may hold an invalid map number. */
static void test_hostile(void)
{
	static const uint32_t bad[] = { GPUBPF_ARENA_ROWS, GPUBPF_ARENA_ROWS + 1, 0x80000000, UINT32_MAX };
	uint32_t key = 1;
	struct fixture f;

	if (!ok(begin(&f, BPF_MAP_TYPE_ARRAY_OF_MAPS) == 0, "layout"))
		return;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		gpubpf_map_update(&f.view[OUTER], &key, &bad[i], 0);
		ok(!gpubpf_host_lookup(&f.env, &f.view[OUTER], &key), "number %u is no map", bad[i]);
	}
	ok(gpubpf_map_add(&f.view[OUTER], &key, 0, 4, 1) == -EINVAL, "nothing is added to a number");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_kernel(BPF_MAP_TYPE_ARRAY_OF_MAPS, seed);
	test_kernel(BPF_MAP_TYPE_HASH_OF_MAPS, seed);
	test_layout();
	test_mirror();
	test_hostile();
	return done();
}
