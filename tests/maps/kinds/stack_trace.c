/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests STACK_TRACE maps: random launches and bpf(2) operations against a model of the Linux kernel's buckets, in which
 * a stack's number replaces its hash. Also tests the store that numbers the stacks.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "maps/impl.h"
#include "maps/host/stacks.h"
#include "tests/tap.h"

#define STACKS 20
#define BUCKETS 8          /* number of buckets of a map with 5 entries */
#define DEPTH 4
#define ROUNDS 200000

static struct gpubpf_stacks *stacks;
static uint64_t address[STACKS][6];

static uint32_t frames(uint32_t i)
{
	return 1 + i % 6;
}

static void check_store(void)
{
	static const uint64_t place[6];
	uint64_t other[6] = { 1 };
	bool good = true;

	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint32_t k = 0; k < frames(i); k++)
			address[i][k] = 0x1000 * (i / 2 + 1) + k;
		good &= gpubpf_stacks_intern(stacks, address[i], place, frames(i)) == i + 1;
	}
	for (uint32_t i = 0; i < STACKS; i++)
		good &= gpubpf_stacks_intern(stacks, address[i], place, frames(i)) == i + 1;
	ok(good, "each stack has a number, and the same one when it comes again");
	ok(gpubpf_stacks_intern(stacks, address[0], other, frames(0)) == STACKS + 1, "the same addresses in another file are another stack");
	ok(!gpubpf_stacks_intern(stacks, address[0], place, 0) && !gpubpf_stacks_find(stacks, 0) &&
	   !gpubpf_stacks_find(stacks, STACKS + 2) && !gpubpf_stacks_find(NULL, 1), "what is no stack has no number");
}

static void check_full(void)
{
	struct gpubpf_stacks *full = gpubpf_stacks_create();
	uint64_t zero = 0;
	bool good = true;

	for (uint64_t i = 1; i <= GPUBPF_MAX_STACKS; i++)
		good &= gpubpf_stacks_intern(full, &i, &zero, 1) == i;
	ok(good && !gpubpf_stacks_intern(full, &zero, &zero, 1) && gpubpf_stacks_intern(full, &(uint64_t){ 7 }, &zero, 1) == 7,
	   "a full store has no number for others");
	gpubpf_stacks_destroy(full);
}

static uint64_t word_of(uint32_t number)
{
	return 0x0000123400005678 | (uint64_t)(number & 1023) << GPUBPF_LAUNCH_LOW | (uint64_t)(number >> 10) << GPUBPF_LAUNCH_HIGH;
}

static void check_word(void)
{
	bool good = true;

	for (uint32_t number = 1; number < 1u << 20; number <<= 1)
		good &= gpubpf_launch_stack(word_of(number)) == number;
	ok(good, "a launch has each bit of its stack's number");
}

/* -- the model -- */

static uint32_t model[BUCKETS];

static int64_t model_id(uint32_t number, uint64_t flags)
{
	uint32_t *bucket = &model[number % BUCKETS];

	if (flags & ~(uint64_t)(BPF_F_SKIP_FIELD_MASK | BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP | BPF_F_REUSE_STACKID))
		return -EINVAL;
	if (!number || !(flags & BPF_F_USER_STACK))
		return -EFAULT;
	if (*bucket && *bucket != number && !(flags & BPF_F_REUSE_STACKID))
		return -EEXIST;
	*bucket = number;
	return number % BUCKETS;
}

static bool same_value(const uint64_t *value, uint32_t number)
{
	bool good = true;

	for (uint32_t k = 0; k < DEPTH; k++)
		good &= value[k] == (k < frames(number - 1) ? address[number - 1][k] : 0);
	return good;
}

static int model_next(uint32_t key)
{
	for (uint32_t i = key < BUCKETS ? key + 1 : 0; i < BUCKETS; i++)
		if (model[i])
			return (int)i;
	return -ENOENT;
}

static bool round_of(struct fixture *f, uint64_t *seed)
{
	static const uint64_t bits[] = { 0, BPF_F_USER_STACK, BPF_F_USER_STACK, BPF_F_USER_STACK | BPF_F_REUSE_STACKID,
					 BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP, BPF_F_USER_STACK | 1 << 11, BPF_F_USER_STACK | 3 };
	uint64_t r = random_next(seed), flags = bits[r % 7], value[DEPTH];
	uint32_t number = (r >> 8) % (STACKS + 1), key = (r >> 16) % (BUCKETS + 2), next = 0;
	const struct gpubpf_map_layout *l = f->view[0].layout;
	int err;

	switch ((r >> 40) % 8) {
	case 0:
		err = gpubpf_map_lookup(&f->view[0], &key, value);
		return key < BUCKETS && model[key] ? !err && same_value(value, model[key]) : err == -ENOENT;
	case 1:
		err = gpubpf_map_next_key(&f->view[0], &key, &next);
		return model_next(key) < 0 ? err == -ENOENT : !err && next == (uint32_t)model_next(key);
	case 2:
		err = gpubpf_map_delete(&f->view[0], &key);
		if (key >= BUCKETS)
			return err == -E2BIG;
		number = model[key];
		model[key] = 0;
		return err == (number ? 0 : -ENOENT);
	case 3:
		return gpubpf_map_update(&f->view[0], &key, value, BPF_ANY) == -EINVAL;
	default:
		f->env.pid_tgid = word_of(number);
		return gpubpf_stack_trace_stackid(&f->env, GPUBPF_LAYOUT_PASS(l), flags) == model_id(number, flags) &&
		       gpubpf_helper_get_current_pid_tgid(&f->env) == 0x0000123400005678;
	}
}

/* -- the Linux kernel -- */

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int make(uint32_t key, uint32_t value, uint32_t entries)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_STACK_TRACE, .key_size = key, .value_size = value, .max_entries = entries };
	int fd = (int)bpf(BPF_MAP_CREATE, &attr);

	return fd < 0 ? -errno : fd;
}

/* Check the sizes that the Linux kernel's map accepts, and the errors of operations on an empty map. */
static void check_kernel(void)
{
	static const struct { uint32_t key, value; } sizes[] = { { 4, 8 }, { 4, 1016 }, { 4, 1024 }, { 4, 12 }, { 4, 4 }, { 8, 8 }, { 4, 0 } };
	const struct gpubpf_map_type *type = gpubpf_map_type_find(BPF_MAP_TYPE_STACK_TRACE);
	uint64_t value[127] = { 0 };
	uint32_t key = 3;
	union bpf_attr attr = { .map_fd = 0, .key = (uintptr_t)&key, .value = (uintptr_t)value };
	bool good = true;
	int fd = make(4, 8, 5);

	if (fd < 0) {
		skip("as the Linux kernel's", "bpf(2): %s", strerror(-fd));
		return;
	}
	attr.map_fd = fd;
	good &= bpf(BPF_MAP_LOOKUP_ELEM, &attr) < 0 && errno == ENOENT;
	good &= bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0 && errno == EINVAL;
	attr.value = 0;
	good &= bpf(BPF_MAP_DELETE_ELEM, &attr) < 0 && errno == ENOENT;
	key = BUCKETS;
	good &= bpf(BPF_MAP_DELETE_ELEM, &attr) < 0 && errno == E2BIG;
	attr.value = (uintptr_t)value;
	good &= bpf(BPF_MAP_GET_NEXT_KEY, &attr) < 0 && errno == ENOENT;
	close(fd);
	ok(good, "the Linux kernel's has the same errors");
	good = true;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gpubpf_map map = { .type = type, .key_size = sizes[i].key, .value_size = sizes[i].value, .max_entries = 1 };
		struct gpubpf_map_fault fault;

		fd = make(sizes[i].key, sizes[i].value, 1);
		good &= (fd < 0) == (type->impl->check(&map, &fault) < 0);
		if (fd >= 0)
			close(fd);
	}
	ok(good, "and takes the same sizes");
}

/* Describes a frame: frames with an even number are in a file. */
static bool file_of(void *arg, const struct gpubpf_stack *stack, uint32_t i, struct gpubpf_stack_frame *frame)
{
	(void)arg;
	if (i % 2)
		return false;
	memset(frame->build_id, 0xab, sizeof(frame->build_id));
	frame->offset = stack->address[i] + 1;
	return true;
}

/* Check the values of a map with BPF_F_STACK_BUILD_ID. */
static void check_build_ids(void)
{
	struct bpf_stack_build_id value[DEPTH];
	uint32_t key = 0, n = frames(STACKS - 1);
	struct gpubpf_map_view view;
	struct fixture f;
	bool good = true;

	_Static_assert(sizeof(value[0]) == sizeof(struct gpubpf_stack_frame), "they are the kernel's");
	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_STACK_TRACE, 4, sizeof(value), 5, GPUBPF_USE_UPDATE);
	f.maps[0].stacks = stacks;
	f.maps[0].map_flags = BPF_F_STACK_BUILD_ID;
	gpubpf_stacks_files(stacks, file_of, NULL);
	if (!ok(!fixture_ready(&f), "a map of build ids"))
		return;
	view = f.view[0];
	*(uint64_t *)((char *)view.arena + view.layout->data) = STACKS;
	good = !gpubpf_map_lookup(&view, &key, value);
	for (uint32_t i = 0; i < DEPTH; i++) {
		int32_t status = i >= n ? BPF_STACK_BUILD_ID_EMPTY : i % 2 ? BPF_STACK_BUILD_ID_IP : BPF_STACK_BUILD_ID_VALID;

		good &= value[i].status == status && value[i].build_id[19] == (status == BPF_STACK_BUILD_ID_VALID ? 0xab : 0) &&
			value[i].ip == (i < n ? address[STACKS - 1][i] + !(i % 2) : 0);
	}
	ok(good, "has build ids and offsets of frames in files, addresses of others, and nothing behind");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();
	struct fixture f;
	bool good = true;

	stacks = gpubpf_stacks_create();
	check_store();
	check_full();
	check_word();
	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_STACK_TRACE, 4, 8 * DEPTH, 5, GPUBPF_USE_UPDATE);
	f.maps[0].stacks = stacks;
	if (!ok(!fixture_ready(&f), "a map"))
		return done();
	for (uint32_t i = 0; i < ROUNDS && good; i++)
		good = round_of(&f, &seed);
	ok(good, "%d random operations as the model's", ROUNDS);
	check_kernel();
	fixture_end(&f);
	check_build_ids();
	gpubpf_stacks_destroy(stacks);
	return done();
}
