/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests program arrays: random programs that tail-call each other through two arrays, and random bpf(2) operations on
 * these arrays. The Linux kernel's maps must give the same results (BPF_PROG_TEST_RUN), if bpf(2) is permitted.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/model/insn.h"
#include "core/interp/interp.h"
#include "core/load/internal.h"
#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define PROGS 5
#define ROOM 6           /* slots per array */
#define INDICES 8        /* programs and bpf(2) use indices below this number */
#define ROUNDS 2000

enum { TRACE, ARRAYS, MAPS = ARRAYS + 2 };

/*
 * Write program k: it adds its number to the trace, tail-calls through one map and then through the other, and returns
 * the trace. Returns the number of instructions.
 */
static uint32_t write_program(struct bpf_insn *out, uint32_t k, const int *map)
{
	const struct bpf_insn insns[] = {
		{ 0xbf, 6, 1, 0, 0 }, { 0x62, 10, 0, -4, 0 }, { 0xbf, 2, 10, 0, 0 }, { 0x07, 2, 0, 0, -4 },
		{ 0x18, 1, BPF_PSEUDO_MAP_FD, 0, map[TRACE] }, { 0 }, { 0x85, 0, 0, 0, 1 }, { 0x55, 0, 0, 1, 0 }, { .code = 0x95 },
		{ 0x79, 7, 0, 0, 0 }, { 0x27, 7, 0, 0, 31 }, { 0x07, 7, 0, 0, (int)k + 1 }, { 0x7b, 0, 7, 0, 0 },
		{ 0xbf, 1, 6, 0, 0 }, { 0x18, 2, BPF_PSEUDO_MAP_FD, 0, map[ARRAYS] }, { 0 }, { 0xbf, 3, 7, 0, 0 },
		{ 0x77, 3, 0, 0, (int)k }, { 0x57, 3, 0, 0, INDICES - 1 }, { 0x85, 0, 0, 0, 12 },
		{ 0xbf, 1, 6, 0, 0 }, { 0x18, 2, BPF_PSEUDO_MAP_FD, 0, map[ARRAYS + 1] }, { 0 }, { 0xbf, 3, 7, 0, 0 },
		{ 0x77, 3, 0, 0, 9 }, { 0x57, 3, 0, 0, INDICES - 1 }, { 0x85, 0, 0, 0, 12 },
		{ 0xbf, 0, 7, 0, 0 }, { .code = 0x95 },
	};

	memcpy(out, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

/* -- ours -- */

struct ours {
	struct fixture f;
	struct gpubpf_loaded loaded;
	struct gpubpf_prog progs[PROGS];
};

static int parse_program(struct gpubpf_prog *prog, uint32_t k, struct gpubpf_diag *diag)
{
	static const int maps[] = { 0, 1, 2 };
	struct bpf_insn raw[64];

	*prog = (struct gpubpf_prog){ .site = GPUBPF_SITE_ENTRY, .ninsns = write_program(raw, k, maps) };
	snprintf(prog->name, sizeof(prog->name), "prog%u", k);
	prog->insns = calloc(prog->ninsns, sizeof(*prog->insns));
	return gpubpf_insn_decode((const void *)raw, prog->ninsns, prog->insns, diag) < 0 ? -1 : gpubpf_program_funcs(prog, diag);
}

static bool ours_begin(struct ours *o)
{
	struct gpubpf_diag diag;
	struct gpubpf_loading l = { .out = &o->loaded, .diag = &diag, .path = "test" };
	uint32_t numbers[PROGS];
	bool good = true;

	gpubpf_diag_init(&diag);
	fixture_begin(&o->f);
	fixture_map(&o->f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, GPUBPF_USE_LOOKUP | GPUBPF_USE_WRITE);
	for (uint32_t m = ARRAYS; m < MAPS; m++) {
		struct gpubpf_map *map = &o->f.maps[fixture_map(&o->f, BPF_MAP_TYPE_PROG_ARRAY, 4, 4, ROOM, 0)];

		map->targets = calloc(PROGS, sizeof(*map->targets));
		map->ntargets = PROGS;
		for (uint32_t k = 0; k < PROGS; k++) {
			map->targets[k] = (struct gpubpf_map_target){ .number = k + 1, .named = true };
			snprintf(map->targets[k].name, sizeof(map->targets[k].name), "prog%u", k);
		}
	}
	for (uint32_t k = 0; k < PROGS; k++) {
		good &= parse_program(&o->progs[k], k, &diag) == 0;
		numbers[k] = k + 1;
	}
	o->f.unit.progs = o->progs;
	o->f.unit.nprogs = PROGS;
	o->loaded.unit = o->f.unit;
	good = good && !gpubpf_tails_link(&l, 0, numbers) && !fixture_ready(&o->f);
	for (uint32_t k = 0; k < PROGS && good; k++)
		good = !gpubpf_verify(&o->f.unit, &o->progs[k], &(struct gpubpf_verify_opts){ 0 }, &diag);
	if (!good)
		note("%s", diag.what);
	return good;
}

static void ours_end(struct ours *o)
{
	for (uint32_t k = 0; k < PROGS; k++)
		gpubpf_program_finish(&o->progs[k]);
	for (uint32_t m = ARRAYS; m < MAPS; m++)
		free(o->f.maps[m].targets);
	fixture_end(&o->f);
}

static int64_t ours_run(struct ours *o, uint32_t k)
{
	static const struct gpubpf_ctx ctx;
	const struct gpubpf_interp_job job = { .unit = &o->f.unit, .prog = &o->progs[k], .ctx = &ctx, .arena = o->f.arena,
					       .layout = &o->f.layout };
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (!gpubpf_interp_run(&job, &result, &diag))
		return (uint32_t)result.r0;
	note("%s", diag.what);
	return -1;
}

/* -- the Linux kernel -- */

struct kernel {
	int map[MAPS], prog[PROGS];
};

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int kernel_element(int cmd, int map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags };

	return bpf(cmd, &attr);
}

static bool kernel_begin(struct kernel *k)
{
	bool good = true;

	for (int m = 0; m < MAPS; m++) {
		union bpf_attr attr = { .map_type = m < ARRAYS ? BPF_MAP_TYPE_ARRAY : BPF_MAP_TYPE_PROG_ARRAY, .key_size = 4,
					.value_size = m < ARRAYS ? 8 : 4, .max_entries = m < ARRAYS ? 1 : ROOM };

		good &= (k->map[m] = bpf(BPF_MAP_CREATE, &attr)) >= 0;
	}
	for (uint32_t i = 0; i < PROGS; i++) {
		struct bpf_insn insns[64];
		union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)insns,
					.insn_cnt = write_program(insns, i, k->map), .license = (uintptr_t)"GPL" };

		good &= (k->prog[i] = bpf(BPF_PROG_LOAD, &attr)) >= 0;
	}
	return good;
}

static void kernel_end(const struct kernel *k)
{
	const int *fds = (const int *)k;

	for (int i = 0; i < MAPS + PROGS; i++)
		close(fds[i]);
}

static int64_t kernel_run(const struct kernel *k, uint32_t i)
{
	char packet[64] = { 0 };
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)k->prog[i], .data_in = (uintptr_t)packet, .data_size_in = sizeof(packet) } };

	return bpf(BPF_PROG_TEST_RUN, &attr) < 0 ? -1 : (int64_t)attr.test.retval;
}

/* -- comparison -- */

/* Store another program, or none, in the same slot of both maps (gpubpf's and the Linux kernel's). */
static bool change(struct ours *o, const struct kernel *k, uint64_t *seed)
{
	uint32_t map = ARRAYS + (uint32_t)(random_next(seed) % 2), prog = (uint32_t)(random_next(seed) % PROGS), number = prog + 1;
	uint32_t key = (uint32_t)(random_next(seed) % INDICES), next[2] = { 0 };
	uint64_t flags = random_next(seed) % 16;
	int ra, rb;

	flags = flags > 3 ? 0 : flags;
	if (random_next(seed) % 4) {
		ra = gpubpf_map_update(&o->f.view[map], &key, &number, flags);
		rb = kernel_element(BPF_MAP_UPDATE_ELEM, k->map[map], &key, &k->prog[prog], flags);
	} else {
		ra = gpubpf_map_delete(&o->f.view[map], &key);
		rb = kernel_element(BPF_MAP_DELETE_ELEM, k->map[map], &key, NULL, 0);
	}
	if (ra == rb) {
		ra = gpubpf_map_next_key(&o->f.view[map], &key, &next[0]);
		rb = kernel_element(BPF_MAP_GET_NEXT_KEY, k->map[map], &key, &next[1], 0);
	}
	if (ra == rb && next[0] == next[1]) {
		ra = gpubpf_map_lookup(&o->f.view[map], &key, &number);
		rb = kernel_element(BPF_MAP_LOOKUP_ELEM, k->map[map], &key, &next[0], 0);
	}
	if (ra != rb)
		note("slot %u with flags %llu: %d, the kernel's %d", key, (unsigned long long)flags, ra, rb);
	return ra == rb;
}

static bool agree(struct ours *o, const struct kernel *k, uint64_t seed)
{
	const uint32_t zero = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t prog = (uint32_t)(random_next(&seed) % PROGS);
		uint64_t trace = random_next(&seed), theirs = 0, own = 1;
		int64_t a, b;

		if (!change(o, k, &seed))
			return false;
		gpubpf_map_update(&o->f.view[TRACE], &zero, &trace, 0);
		kernel_element(BPF_MAP_UPDATE_ELEM, k->map[TRACE], &zero, &trace, 0);
		a = ours_run(o, prog);
		b = kernel_run(k, prog);
		gpubpf_map_lookup(&o->f.view[TRACE], &zero, &own);
		kernel_element(BPF_MAP_LOOKUP_ELEM, k->map[TRACE], &zero, &theirs, 0);
		if (a != b || own != theirs || a < 0) {
			note("run %u of prog%u from %llx: %lld and %llx, the kernel has %lld and %llx", i, prog, (unsigned long long)trace,
			     (long long)a, (unsigned long long)own, (long long)b, (unsigned long long)theirs);
			return false;
		}
	}
	return true;
}

/*
 * A hostile application has written an invalid program number into a slot. For programs, the slot must count as empty.
 */
static void test_hostile(struct ours *o)
{
	static const uint32_t bad[] = { PROGS + 1, 256, 0x10000, 0x80000000, UINT32_MAX };
	const uint64_t trace = 1;
	const uint32_t zero = 0;

	for (uint32_t key = 0; key < ROOM; key++)
		for (uint32_t m = ARRAYS; m < MAPS; m++)
			gpubpf_map_delete(&o->f.view[m], &key);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (uint32_t key = 0; key < ROOM; key++)
			gpubpf_map_update(&o->f.view[ARRAYS], &key, &bad[i], 0);
		gpubpf_map_update(&o->f.view[TRACE], &zero, &trace, 0);
		ok(ours_run(o, 0) == 32, "number %u is no program", bad[i]);
	}
}

int main(void)
{
	uint64_t seed = random_seed();
	struct kernel k = { 0 };
	static struct ours o;

	if (ok(ours_begin(&o), "programs that may come to each other are made one, and are safe")) {
		if (!kernel_begin(&k))
			skip("kernel", "bpf(2) is not allowed here: %s", strerror(errno));
		else
			ok(agree(&o, &k, seed), "runs, slots and errors are the Linux kernel's");
		test_hostile(&o);
	}
	kernel_end(&k);
	ours_end(&o);
	return done();
}
