/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares bpf_strncmp() (helper 182) of the interpreter with that of the running Linux kernel: both must return the
 * same for the same bytes. The strings are equal, differ at any position, end early, or have bytes above 127.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/interp/interp.h"
#include "core/load/load.h"
#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define SIZE 16
#define ROUNDS 300

/* consecutive NUL-terminated strings */
static const char texts[64] = "\0a\0sixteen bytes!!!\0\x80\xff\x7f high\0the same\0";

struct sides {
	struct fixture f;
	int bytes, text, prog;    /* file descriptors of the Linux kernel; -1 if bpf(2) is not permitted */
	struct gpubpf_unit unit;
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int kernel_map(uint32_t value_size, uint32_t flags)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value_size, .max_entries = 1,
				.map_flags = flags };

	return bpf(BPF_MAP_CREATE, &attr);
}

static int kernel_set(int map, const void *value)
{
	uint32_t zero = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)&zero, .value = (uintptr_t)value };

	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/*
 * Store the program strncmp(bytes, size, texts + at) in insns. bytes and text are map indices, or file descriptors for
 * Linux.
 */
static void program(struct bpf_insn insns[7], int bytes, int text, uint32_t size, uint32_t at)
{
	const struct bpf_insn all[7] = {
		{ 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, bytes }, { 0 },
		{ 0xb7, 2, 0, 0, (int)size },
		{ 0x18, 3, BPF_PSEUDO_MAP_VALUE, 0, text }, { .imm = (int)at },
		{ 0x85, 0, 0, 0, BPF_FUNC_strncmp },
		{ 0x95 },
	};

	memcpy(insns, all, sizeof(all));
}

static int kernel_load(struct sides *s, uint32_t size, uint32_t at)
{
	struct bpf_insn insns[7];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)insns, .insn_cnt = 7,
				.license = (uintptr_t)"GPL" };

	program(insns, s->bytes, s->text, size, at);
	return bpf(BPF_PROG_LOAD, &attr);
}

static bool kernel_open(struct sides *s)
{
	union bpf_attr attr = { 0 };

	s->bytes = kernel_map(SIZE, 0);
	s->text = kernel_map(sizeof(texts), BPF_F_RDONLY_PROG);
	attr.map_fd = (uint32_t)s->text;
	return s->bytes >= 0 && s->text >= 0 && !kernel_set(s->text, texts) && !bpf(BPF_MAP_FREEZE, &attr);
}

static bool kernel_run(struct sides *s, const uint8_t *bytes, int32_t *ret)
{
	char packet[64] = { 0 };
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)s->prog;
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	if (kernel_set(s->bytes, bytes) || bpf(BPF_PROG_TEST_RUN, &attr))
		return false;
	*ret = (int32_t)attr.test.retval;
	return true;
}

static bool ours_run(struct sides *s, const uint8_t *bytes, int32_t *ret)
{
	struct gpubpf_ctx ctx = { .work_dim = 1, .grid_dim = { 1, 1, 1 }, .block_dim = { 1, 1, 1 } };
	struct gpubpf_interp_job job = { .unit = &s->unit, .prog = s->unit.progs, .ctx = &ctx, .arena = s->f.arena,
					 .layout = &s->f.layout };
	struct gpubpf_interp_result result;
	uint32_t zero = 0;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_map_update(&s->f.view[0], &zero, bytes, 0) || gpubpf_interp_run(&job, &result, &diag) < 0)
		return false;
	*ret = (int32_t)result.r0;
	return (int64_t)result.r0 == *ret;
}

/* Store the text at this offset in bytes, with up to two random bytes changed. */
static void random_bytes(uint64_t *seed, uint32_t at, uint8_t *bytes)
{
	for (uint32_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)texts[at + i];
	for (uint32_t n = random_next(seed) % 3; n; n--)
		bytes[random_next(seed) % SIZE] = random_next(seed) % 4 ? (uint8_t)random_next(seed) : 0;
}

static int32_t model(const uint8_t *bytes, uint32_t size, uint32_t at)
{
	int order = strncmp((const char *)bytes, texts + at, size);

	return (order > 0) - (order < 0);
}

static void test_size(struct sides *s, uint64_t *seed, uint32_t size, uint32_t at, bool kernel)
{
	uint32_t bad = 0, differ = 0;
	struct bpf_insn insns[7];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	program(insns, 0, 1, size, at);
	s->prog = kernel ? kernel_load(s, size, at) : -1;
	if (!ok(gpubpf_unit_raw((void *)insns, 7, s->f.maps, 2, &s->unit, &diag) == 0 && (!kernel || s->prog >= 0),
		"%u bytes with the text at %u: loaded", size, at))
		return;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int32_t ours = 77, theirs = 78;
		uint8_t bytes[SIZE];

		random_bytes(seed, at, bytes);
		bad += !ours_run(s, bytes, &ours) || ours != model(bytes, size, at);
		differ += kernel && (!kernel_run(s, bytes, &theirs) || ours != theirs);
	}
	ok(!bad, "%u bytes with the text at %u: as strncmp(3) in %u rounds", size, at, ROUNDS - bad);
	if (kernel)
		ok(!differ, "%u bytes with the text at %u: the Linux kernel answers the same", size, at);
	gpubpf_unit_finish(&s->unit);
	close(s->prog);
}

int main(void)
{
	uint64_t seed = random_seed();
	struct sides s = { 0 };
	bool kernel;

	fixture_begin(&s.f);
	fixture_map(&s.f, BPF_MAP_TYPE_ARRAY, 4, SIZE, 1, GPUBPF_USE_READ);
	fixture_map(&s.f, BPF_MAP_TYPE_ARRAY, 4, sizeof(texts), 1, GPUBPF_USE_READ);
	s.f.maps[1].rdonly = true;
	s.f.maps[1].init = (void *)texts;
	if (!ok(fixture_ready(&s.f) == 0, "maps"))
		return done();
	kernel = kernel_open(&s);
	if (!kernel)
		skip("the Linux kernel's strncmp", "bpf(2) is not allowed here: %s", strerror(errno));
	for (uint32_t at = 0; at < 40; at += strlen(texts + at) + 1)
		for (uint32_t size = 1; size <= SIZE; size += 5)
			test_size(&s, &seed, size, at, kernel);
	fixture_end(&s.f);
	return done();
}
