/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records of GPU programs into a Linux map that loaders read. The map is a PERF_EVENT_ARRAY whose buffers the
 * Linux kernel opened, or a ring buffer that a loader has mapped. The session runs a small program with
 * BPF_PROG_TEST_RUN, which writes one record into the map. So loaders read these records in the same way as the records
 * of Linux kernel programs.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load/linux/linux_map.h"

#define RECORD_MAX 32768u          /* maximum bytes of a record */
#define RECORD_HEAD 8u             /* bytes of the header before a ring buffer's record */

struct sys_bridge {
	int record; /* descriptor of an array with one value, the record to write */
	int prog;
	void *value;         /* buffer for the value of that array */
	uint64_t ring_bytes; /* size of the ring buffer; 0: the map is a PERF_EVENT_ARRAY */
};

/*
 * Emit the start of the program. It puts the context into r6, and the address of the value of `record` into r8. It
 * loads the first 8 bytes of the context into r9. They are the record's size in bytes.
 */
static size_t emit_prologue(struct bpf_insn *insn, int record)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = record },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .off = 1, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 8, .src_reg = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = -EINVAL },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 9, .src_reg = 6 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 9, .off = 1, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_JMP | BPF_JLE | BPF_K, .dst_reg = 9, .off = 1, .imm = RECORD_MAX },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

static size_t emit_perf_output(struct bpf_insn *insn, int array)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = array },
		{ 0 },
		{ .code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = 3, .imm = -1 }, /* BPF_F_CURRENT_CPU */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 4, .src_reg = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 5, .src_reg = 9 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_perf_event_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

static size_t emit_ringbuf_output(struct bpf_insn *insn, int ring)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = ring },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 9 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	memcpy(insn, insns, sizeof(insns));
	return sizeof(insns) / sizeof(insns[0]);
}

static int load_program(const struct sys_bridge *b, int map)
{
	struct bpf_insn insns[40];
	size_t n = emit_prologue(insns, b->record);
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.license = (uintptr_t)"GPL",
		.prog_name = "gpubpf_bridge",
	};

	n += b->ring_bytes ? emit_ringbuf_output(&insns[n], map) : emit_perf_output(&insns[n], map);
	attr.insn_cnt = (uint32_t)n;
	return (int)gpubpf_linux_bpf(BPF_PROG_LOAD, &attr);
}

static int open_bridge(struct sys_bridge *b, int map)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = RECORD_MAX,
		.max_entries = 1,
		.map_name = "gpubpf_record",
	};

	b->value = calloc(1, RECORD_MAX);
	b->record = b->value ? (int)gpubpf_linux_bpf(BPF_MAP_CREATE, &attr) : -ENOMEM;
	b->prog = b->record < 0 ? b->record : load_program(b, map);
	return b->prog < 0 ? b->prog : 0;
}

int sys_bridge_create(int map, uint64_t ring_bytes, struct sys_bridge **bridge)
{
	struct sys_bridge *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	if (b) {
		b->record = b->prog = -1;
		b->ring_bytes = ring_bytes;
		err = open_bridge(b, map);
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

/*
 * Write one record. Returns the result of the helper that the program calls. For a perf event, the result is -ENOSPC if
 * the buffer is full; then the Linux kernel counts the lost event. The result is -ENOENT or -EOPNOTSUPP if the CPU has
 * no buffer. For a ring buffer, it is -EAGAIN if the record does not fit.
 */
int sys_bridge_put(struct sys_bridge *bridge, const void *data, uint32_t size)
{
	static const uint32_t first;
	uint64_t words[1] = { size };
	union bpf_attr put = { .map_fd = (uint32_t)bridge->record,
			       .key = (uintptr_t)&first,
			       .value = (uintptr_t)bridge->value };
	union bpf_attr run = {
		.test = { .prog_fd = (uint32_t)bridge->prog, .ctx_in = (uintptr_t)words, .ctx_size_in = sizeof(words) }
	};
	int err;

	if (size > RECORD_MAX || (bridge->ring_bytes && size + RECORD_HEAD > bridge->ring_bytes))
		return -E2BIG;
	memcpy(bridge->value, data, size);
	err = (int)gpubpf_linux_bpf(BPF_MAP_UPDATE_ELEM, &put);
	if (!err)
		err = (int)gpubpf_linux_bpf(BPF_PROG_TEST_RUN, &run);
	return err || !bridge->ring_bytes ? err : (int)run.test.retval;
}
