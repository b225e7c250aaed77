/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls bpf_strncmp(), bpf_strnlen() and bpf_strnchr() in the interpreter and in the running Linux kernel. Both must
 * return the same for the same bytes. The strings are equal, differ at any position, end early, or have bytes above 127.
 * The last two functions are kernel functions since Linux 6.17.
 */
#include <bpf/btf.h>
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
	int bytes, text, prog; /* file descriptors of the Linux kernel; -1 if bpf(2) is not permitted */
	int error;             /* why the maps of the Linux kernel could not be created; 0: they exist */
	struct btf *types;     /* of the Linux kernel, or NULL */
	struct gpubpf_unit unit;
};

/* The function of the test. The last argument is the text at `at`, or its first byte. */
struct function {
	const char *name;
	int number;     /* of the helper */
	bool is_helper; /* also in the Linux kernel */
	int32_t (*model)(const uint8_t *bytes, uint32_t size, uint32_t at);
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int kernel_map(uint32_t value_size, uint32_t flags)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value_size, .max_entries = 1, .map_flags = flags
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

static int kernel_set(int map, const void *value)
{
	uint32_t zero = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)&zero, .value = (uintptr_t)value };

	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

/*
 * Store a program in insns that calls the function with the bytes, the size, and texts + at. The parameters `bytes` and
 * `text` are map indices, or file descriptors for Linux.
 */
static void program(struct bpf_insn insns[7], const struct function *f, int bytes, int text, uint32_t size, uint32_t at)
{
	const struct bpf_insn all[7] = {
		{ 0x18, 1, BPF_PSEUDO_MAP_VALUE, 0, bytes },
		{ 0 },
		{ 0xb7, 2, 0, 0, (int)size },
		{ 0x18, 3, BPF_PSEUDO_MAP_VALUE, 0, text },
		{ .imm = (int)at },
		{ 0x85, 0, 0, 0, f->number },
		{ 0x95 },
	};

	memcpy(insns, all, sizeof(all));
	if (f->is_helper)
		return;
	insns[3] = (struct bpf_insn){ 0x18, 3, 0, 0, (int)texts[at] };
	insns[4] = (struct bpf_insn){ .imm = texts[at] < 0 ? -1 : 0 };
}

/* Loads the program into the Linux kernel. Returns its descriptor, or -1. */
static int kernel_load(struct sides *s, const struct function *f, uint32_t size, uint32_t at)
{
	struct bpf_insn insns[7];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insns = (uintptr_t)insns,
				.insn_cnt = 7,
				.license = (uintptr_t)"GPL" };

	program(insns, f, s->bytes, s->text, size, at);
	if (!f->is_helper) {
		insns[5].src_reg = BPF_PSEUDO_KFUNC_CALL;
		insns[5].imm = s->types ? btf__find_by_name_kind(s->types, f->name, BTF_KIND_FUNC) : -1;
	}
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
	struct gpubpf_interp_job job = {
		.unit = &s->unit, .prog = s->unit.progs, .ctx = &ctx, .arena = s->f.arena, .layout = &s->f.layout
	};
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

static int32_t compare(const uint8_t *bytes, uint32_t size, uint32_t at)
{
	int order = strncmp((const char *)bytes, texts + at, size);

	return (order > 0) - (order < 0);
}

static int32_t length(const uint8_t *bytes, uint32_t size, uint32_t at)
{
	(void)at;
	return (int32_t)strnlen((const char *)bytes, size);
}

static int32_t find(const uint8_t *bytes, uint32_t size, uint32_t at)
{
	size_t n = strnlen((const char *)bytes, size);
	const uint8_t *found = memchr(bytes, (uint8_t)texts[at], n < size ? n + 1 : n);

	return found ? (int32_t)(found - bytes) : -ENOENT;
}

static void test_size(struct sides *s, const struct function *f, uint64_t *seed, uint32_t size, uint32_t at, bool kernel)
{
	uint32_t bad = 0, differ = 0;
	struct bpf_insn insns[7];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	program(insns, f, 0, 1, size, at);
	s->prog = kernel ? kernel_load(s, f, size, at) : -1;
	if (!ok(gpubpf_unit_raw((void *)insns, 7, s->f.maps, 2, &s->unit, &diag) == 0 && (!kernel || s->prog >= 0),
		"%s of %u bytes with the text at %u: loaded", f->name, size, at))
		return;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int32_t ours = 77, theirs = 78;
		uint8_t bytes[SIZE];

		random_bytes(seed, at, bytes);
		bad += !ours_run(s, bytes, &ours) || ours != f->model(bytes, size, at);
		differ += kernel && (!kernel_run(s, bytes, &theirs) || ours != theirs);
	}
	ok(!bad, "%s of %u bytes with the text at %u: as libc in %u rounds", f->name, size, at, ROUNDS - bad);
	if (kernel)
		ok(!differ, "%s of %u bytes with the text at %u: the Linux kernel returns the same", f->name, size, at);
	gpubpf_unit_finish(&s->unit);
	close(s->prog);
}

static void test_function(struct sides *s, const struct function *f, uint64_t *seed)
{
	int prog = s->error ? -1 : kernel_load(s, f, 1, 0);

	if (prog < 0)
		skip("the function of the Linux kernel", "%s cannot be called here: %s", f->name,
		     strerror(s->error ? s->error : errno));
	else
		close(prog);
	for (uint32_t at = 0; at < 40; at += strlen(texts + at) + 1)
		for (uint32_t size = 1; size <= SIZE; size += 5)
			test_size(s, f, seed, size, at, prog >= 0);
}

int main(void)
{
	static const struct function functions[] = {
		{ "bpf_strncmp", BPF_FUNC_strncmp, true, compare },
		{ "bpf_strnlen", 543, false, length },
		{ "bpf_strnchr", 544, false, find },
	};
	uint64_t seed = random_seed();
	struct sides s = { 0 };

	fixture_begin(&s.f);
	fixture_map(&s.f, BPF_MAP_TYPE_ARRAY, 4, SIZE, 1, GPUBPF_USE_READ);
	fixture_map(&s.f, BPF_MAP_TYPE_ARRAY, 4, sizeof(texts), 1, GPUBPF_USE_READ);
	s.f.maps[1].rdonly = true;
	s.f.maps[1].init = (void *)texts;
	if (!ok(fixture_ready(&s.f) == 0, "maps"))
		return done();
	s.error = kernel_open(&s) ? 0 : errno;
	s.types = btf__load_vmlinux_btf();
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		test_function(&s, &functions[i], &seed);
	btf__free(s.types);
	fixture_end(&s.f);
	return done();
}
