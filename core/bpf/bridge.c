/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records for a PERF_EVENT_ARRAY of the Linux kernel's, whose buffers a loader has opened there: a program of two dozen
 * instructions, run by BPF_PROG_TEST_RUN, puts them where those of the kernel's own programs come, so that a loader reads
 * both as they came, in its own way.
 */
#include "bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load/linux_map.h"

#define RECORD_MAX 32768u          /* bytes */
#define HELPER_LOOKUP 1
#define HELPER_PERF_OUTPUT 25

struct sys_bridge {
	int record;                    /* an array of one value: what goes over */
	int prog;
	void *value;                   /* of that */
};

/* r6 = context; the value of `record`; as many bytes of it as the context's first word says */
static int load(int record, int array)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = record }, { 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = HELPER_LOOKUP },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 9, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 4, .src_reg = 0 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 5, .src_reg = 6 },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 5, .off = 6, .imm = 0 },
		{ .code = BPF_JMP | BPF_JGT | BPF_K, .dst_reg = 5, .off = 5, .imm = RECORD_MAX },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = array }, { 0 },
		{ .code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = 3, .imm = -1 }, /* BPF_F_CURRENT_CPU */
		{ .code = BPF_JMP | BPF_CALL, .imm = HELPER_PERF_OUTPUT },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (uintptr_t)insns, .insn_cnt = sizeof(insns) / sizeof(insns[0]),
		.license = (uintptr_t)"GPL", .prog_name = "gpubpf_bridge",
	};

	return (int)gpubpf_linux_bpf(BPF_PROG_LOAD, &attr);
}

static int open_bridge(struct sys_bridge *b, int array)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = sizeof(uint32_t), .value_size = RECORD_MAX, .max_entries = 1,
		.map_name = "gpubpf_record",
	};

	b->value = calloc(1, RECORD_MAX);
	b->record = b->value ? (int)gpubpf_linux_bpf(BPF_MAP_CREATE, &attr) : -ENOMEM;
	b->prog = b->record < 0 ? b->record : load(b->record, array);
	return b->prog < 0 ? b->prog : 0;
}

int sys_bridge_create(int array, struct sys_bridge **bridge)
{
	struct sys_bridge *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	if (b) {
		b->record = b->prog = -1;
		err = open_bridge(b, array);
	}
	if (err < 0)
		sys_bridge_destroy(b);
	else
		*bridge = b;
	return err;
}

void sys_bridge_destroy(struct sys_bridge *bridge)
{
	if (!bridge)
		return;
	if (bridge->record >= 0)
		close(bridge->record);
	if (bridge->prog >= 0)
		close(bridge->prog);
	free(bridge->value);
	free(bridge);
}

/* What the program gives back is the helper's result: -ENOSPC of a full buffer, which the kernel counts for its reader, and
 * -ENOENT or -EOPNOTSUPP where the CPU has none. */
int sys_bridge_put(struct sys_bridge *bridge, const void *data, uint32_t size)
{
	static const uint32_t first;
	uint64_t words[1] = { size };
	union bpf_attr put = { .map_fd = (uint32_t)bridge->record, .key = (uintptr_t)&first, .value = (uintptr_t)bridge->value };
	union bpf_attr run = { .test = { .prog_fd = (uint32_t)bridge->prog, .ctx_in = (uintptr_t)words, .ctx_size_in = sizeof(words) } };
	int err;

	if (size > RECORD_MAX)
		return -E2BIG;
	memcpy(bridge->value, data, size);
	err = (int)gpubpf_linux_bpf(BPF_MAP_UPDATE_ELEM, &put);
	return err < 0 ? err : (int)gpubpf_linux_bpf(BPF_PROG_TEST_RUN, &run);
}
