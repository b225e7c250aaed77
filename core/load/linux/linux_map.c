/* SPDX-License-Identifier: Apache-2.0 */
#include "linux_map.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HELPER_LOOKUP 1
#define BATCH_BYTES (1u << 20)         /* maximum bytes of all keys and values that one batch look-up reads */
#define MIN_BATCH 64u
/* a generated BPF program has at most EACH_INSNS instructions for each word of a value, and OTHER_INSNS others */
#define EACH_INSNS 4u
#define OTHER_INSNS 32u

enum { ADD, EXCHANGE, PROGS };

struct gpubpf_linux_map {
	struct gpubpf_linux_map_opts o;
	bool percpu;
	uint32_t cpus;
	/*
	 * - work_fd: file descriptor of the map that holds the input of the BPF programs
	 * - prog[]: file descriptors of these programs
	 *
	 * The value -1 means that the map or program is not created yet.
	 */
	int work_fd, prog[PROGS];
	uint8_t *work;          /* the input map's mapped value: the key, then two values, each padded to 8 bytes */
	size_t work_size;       /* bytes of `work` */
	uint8_t *keys, *values; /* buffers for a batch of at most `room` elements */
	uint32_t room;
};

long gpubpf_linux_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

size_t gpubpf_linux_map_user_size(const struct gpubpf_linux_map *map)
{
	return map->percpu ? map->cpus * padded(map->o.value_size) : map->o.value_size;
}

/* -- changes of single words -- */

static size_t get_value_offset(const struct gpubpf_linux_map *map, int which)
{
	return padded(map->o.key_size) + which * padded(map->o.value_size);
}

static size_t begin(const struct gpubpf_linux_map *map, struct bpf_insn *insn)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map->work_fd },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = HELPER_LOOKUP },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .off = 2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -ENOENT },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map->o.fd },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = HELPER_LOOKUP },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .off = 2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -ENOENT },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 7, .src_reg = 0 },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

/* Emits the code that adds one word. r6 points to the input, r7 to the map's value. */
static size_t add_word(const struct gpubpf_linux_map *map, uint32_t at, struct bpf_insn *insn)
{
	uint8_t width = map->o.word == 8 ? BPF_DW : BPF_W;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | width,
		  .dst_reg = 1,
		  .src_reg = 6,
		  .off = (int16_t)(get_value_offset(map, 0) + at) },
		{ .code = BPF_STX | BPF_ATOMIC | width, .dst_reg = 7, .src_reg = 1, .off = (int16_t)at, .imm = BPF_ADD },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

static size_t exchange_word(const struct gpubpf_linux_map *map, uint32_t at, struct bpf_insn *insn)
{
	uint8_t width = map->o.word == 8 ? BPF_DW : BPF_W;
	const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | width,
		  .dst_reg = 0,
		  .src_reg = 6,
		  .off = (int16_t)(get_value_offset(map, 0) + at) },
		{ .code = BPF_LDX | BPF_MEM | width,
		  .dst_reg = 1,
		  .src_reg = 6,
		  .off = (int16_t)(get_value_offset(map, 1) + at) },
		{ .code = BPF_JMP | BPF_JEQ | BPF_X, .dst_reg = 0, .src_reg = 1, .off = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | width, .dst_reg = 7, .src_reg = 1, .off = (int16_t)at, .imm = BPF_CMPXCHG },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

static int load(const struct gpubpf_linux_map *map, int which)
{
	uint32_t words = map->o.value_size / map->o.word;
	struct bpf_insn *insns = calloc((size_t)words * EACH_INSNS + OTHER_INSNS, sizeof(*insns));
	const struct bpf_insn end[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.license = (uintptr_t)"GPL",
		.prog_name = "gpubpf_words",
	};
	size_t n;
	int ret;

	if (!insns)
		return -ENOMEM;
	n = begin(map, insns);
	for (uint32_t i = 0; i < words; i++)
		n += which == ADD ? add_word(map, i * map->o.word, &insns[n]) :
				    exchange_word(map, i * map->o.word, &insns[n]);
	memcpy(&insns[n], end, sizeof(end));
	attr.insn_cnt = (uint32_t)(n + sizeof(end) / sizeof(end[0]));
	ret = (int)gpubpf_linux_bpf(BPF_PROG_LOAD, &attr);
	free(insns);
	return ret;
}

static int make_work(struct gpubpf_linux_map *map)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = (uint32_t)get_value_offset(map, 2),
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
		.map_name = "gpubpf_words",
	};

	map->work_size = (get_value_offset(map, 2) + 4095) & ~(size_t)4095;
	map->work_fd = (int)gpubpf_linux_bpf(BPF_MAP_CREATE, &attr);
	if (map->work_fd < 0)
		return map->work_fd;
	map->work = mmap(NULL, map->work_size, PROT_READ | PROT_WRITE, MAP_SHARED, map->work_fd, 0);
	if (map->work != MAP_FAILED)
		return 0;
	map->work = NULL;
	return -errno;
}

static int make_progs(struct gpubpf_linux_map *map)
{
	int err = map->o.word ? make_work(map) : 0;

	for (int i = 0; i < PROGS && map->work && !err; i++) {
		map->prog[i] = load(map, i);
		err = map->prog[i] < 0 ? map->prog[i] : 0;
	}
	return err;
}

static int run(struct gpubpf_linux_map *map, int which, const void *key, const void *first, const void *second)
{
	uint64_t context = 0;
	union bpf_attr attr = {
		.test = { .prog_fd = (uint32_t)map->prog[which],
			  .ctx_in = (uintptr_t)&context,
			  .ctx_size_in = sizeof(context) },
	};
	int err;

	memcpy(map->work, key, map->o.key_size);
	memcpy(map->work + get_value_offset(map, 0), first, map->o.value_size);
	if (second)
		memcpy(map->work + get_value_offset(map, 1), second, map->o.value_size);
	err = (int)gpubpf_linux_bpf(BPF_PROG_TEST_RUN, &attr);
	return err ? err : (int)attr.test.retval;
}

int gpubpf_linux_map_add(struct gpubpf_linux_map *map, const void *key, const void *value)
{
	return map->prog[ADD] < 0 ? -EOPNOTSUPP : run(map, ADD, key, value, NULL);
}

int gpubpf_linux_map_exchange(struct gpubpf_linux_map *map, const void *key, const void *old, const void *value)
{
	return map->prog[EXCHANGE] < 0 ? gpubpf_linux_map_update(map, key, value, BPF_EXIST) :
					 run(map, EXCHANGE, key, old, value);
}

/* -- open and close -- */

static int check(struct gpubpf_linux_map *map)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)map->o.fd, .info_len = sizeof(info), .info = (uintptr_t)&info },
	};
	int err = (int)gpubpf_linux_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);

	if (err < 0)
		return err;
	map->percpu = info.type == BPF_MAP_TYPE_PERCPU_HASH || info.type == BPF_MAP_TYPE_PERCPU_ARRAY ||
		      info.type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
	if (map->percpu)
		map->cpus = (uint32_t)libbpf_num_possible_cpus();
	return info.key_size == map->o.key_size && info.value_size == map->o.value_size ? 0 : -EINVAL;
}

static int open_map(struct gpubpf_linux_map *map)
{
	int err = check(map);
	size_t each;

	if (err < 0)
		return err;
	each = map->o.key_size + gpubpf_linux_map_user_size(map);
	map->room = (uint32_t)(BATCH_BYTES / each);
	map->room = map->room < MIN_BATCH ? MIN_BATCH : map->room;
	map->keys = calloc(map->room + 1, map->o.key_size + 8);
	map->values = calloc(map->room + 1, gpubpf_linux_map_user_size(map) + 8);
	return map->keys && map->values ? make_progs(map) : -ENOMEM;
}

int gpubpf_linux_map_open(const struct gpubpf_linux_map_opts *opts, struct gpubpf_linux_map **map)
{
	struct gpubpf_linux_map *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->o = *opts;
	m->work_fd = m->prog[ADD] = m->prog[EXCHANGE] = -1;
	if (m->o.word && m->o.value_size / m->o.word > GPUBPF_LINUX_WORDS)
		m->o.word = 0;
	err = open_map(m);
	if (err < 0)
		gpubpf_linux_map_close(m);
	else
		*map = m;
	return err;
}

void gpubpf_linux_map_close(struct gpubpf_linux_map *map)
{
	if (!map)
		return;
	for (int i = 0; i < PROGS; i++)
		if (map->prog[i] >= 0)
			close(map->prog[i]);
	if (map->work)
		munmap(map->work, map->work_size);
	if (map->work_fd >= 0)
		close(map->work_fd);
	free(map->keys);
	free(map->values);
	free(map);
}

/* -- elements -- */

static union bpf_attr make_element_attr(const struct gpubpf_linux_map *map, const void *key, const void *value,
					uint64_t flags)
{
	return (union bpf_attr){
		.map_fd = (uint32_t)map->o.fd,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.flags = flags,
	};
}

int gpubpf_linux_map_lookup(struct gpubpf_linux_map *map, const void *key, void *value)
{
	union bpf_attr attr = make_element_attr(map, key, value, 0);

	return (int)gpubpf_linux_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
}

int gpubpf_linux_map_update(struct gpubpf_linux_map *map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = make_element_attr(map, key, value, flags);

	return (int)gpubpf_linux_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

int gpubpf_linux_map_delete(struct gpubpf_linux_map *map, const void *key)
{
	union bpf_attr attr = make_element_attr(map, key, NULL, 0);

	return (int)gpubpf_linux_bpf(BPF_MAP_DELETE_ELEM, &attr);
}

int gpubpf_linux_map_pop(struct gpubpf_linux_map *map, void *value)
{
	union bpf_attr attr = make_element_attr(map, NULL, value, 0);

	return (int)gpubpf_linux_bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM, &attr);
}

/* Doubles the buffers. Used if a bucket of the Linux kernel's hash table has more elements than they hold. */
static int grow_buffers(struct gpubpf_linux_map *map)
{
	uint32_t room = map->room * 2;
	uint8_t *keys = calloc(room + 1, map->o.key_size + 8),
		*values = calloc(room + 1, gpubpf_linux_map_user_size(map) + 8);

	if (!keys || !values) {
		free(keys);
		free(values);
		return -ENOMEM;
	}
	free(map->keys);
	free(map->values);
	map->keys = keys;
	map->values = values;
	map->room = room;
	return 0;
}

static int visit_elements(struct gpubpf_linux_map *map, uint32_t n, gpubpf_linux_element_fn fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = fn(arg, map->keys + (size_t)i * map->o.key_size,
			 map->values + (size_t)i * gpubpf_linux_map_user_size(map));
	return err;
}

int gpubpf_linux_map_each(struct gpubpf_linux_map *map, gpubpf_linux_element_fn fn, void *arg)
{
	/* positions of batch look-ups: the number of a bucket for a hash, a key for a trie */
	uint8_t position[2][512 + 8];
	int at = 0, err = 0;
	bool first = true;

	while (!err) {
		union bpf_attr attr = {
			.batch = {
				.in_batch = first ? 0 : (uintptr_t)position[at], .out_batch = (uintptr_t)position[!at],
				.keys = (uintptr_t)map->keys, .values = (uintptr_t)map->values, .count = map->room,
				.map_fd = (uint32_t)map->o.fd,
			},
		};
		int end = (int)gpubpf_linux_bpf(BPF_MAP_LOOKUP_BATCH, &attr);

		if (end == -ENOSPC) {
			err = grow_buffers(map);
			continue;
		}
		if (end < 0 && end != -ENOENT)
			return end;
		err = visit_elements(map, attr.batch.count, fn, arg);
		if (end == -ENOENT)
			break;
		at = !at;
		first = false;
	}
	return err;
}
