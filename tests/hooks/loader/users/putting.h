/* SPDX-License-Identifier: Apache-2.0 */
/* Builds programs from single instructions, which store a word of their stack in maps, and attaches them to events. */
#ifndef GPUBPF_TESTS_BPF_PUTTING_H
#define GPUBPF_TESTS_BPF_PUTTING_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

struct code {
	struct bpf_insn insn[256];
	size_t n;
};

static void add(struct code *c, uint8_t code, int dst, int src, int off, int imm)
{
	c->insn[c->n++] = (struct bpf_insn){ .code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm };
}

static void add_map(struct code *c, int map)
{
	add(c, BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	add(c, 0, 0, 0, 0, 0);
}

static void add_address(struct code *c, int reg, int off)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_X, reg, 10, 0, 0);
	add(c, BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, off);
}

static void add_set(struct code *c, int reg, int imm)
{
	add(c, BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, imm);
}

static void add_call(struct code *c, int helper)
{
	add(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* The stack of a built program: fp - 8 holds the program's number, fp - 16 the same number as a key, fp - 24 zeros. */
static void add_record(struct code *c, int map)
{
	add_map(c, map);
	add_address(c, 2, -8);
	add_set(c, 3, 8);
	add_set(c, 4, 0);
	add_call(c, BPF_FUNC_ringbuf_output);
}

static void add_push(struct code *c, int map)
{
	add_map(c, map);
	add_address(c, 2, -8);
	add_set(c, 3, 0);
	add_call(c, BPF_FUNC_map_push_elem);
}

static void add_look_up(struct code *c, int map)
{
	add_map(c, map);
	add_address(c, 2, -16);
	add_call(c, BPF_FUNC_map_lookup_elem);
}

static void add_count(struct code *c, int map, bool inserts)
{
	add_look_up(c, map);
	if (inserts) {
		add(c, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 12, 0);
		add_map(c, map);
		add_address(c, 2, -16);
		add_address(c, 3, -24);
		add_set(c, 4, BPF_NOEXIST);
		add_call(c, BPF_FUNC_map_update_elem);
		add_look_up(c, map);
		c->insn[c->n - 14].off = 13;
	}
	add(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0);
	add_set(c, 1, 1);
	add(c, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD);
}

static inline void add_map_store(struct code *c, enum bpf_map_type type, int map)
{
	switch (type) {
	case BPF_MAP_TYPE_RINGBUF:
		add_record(c, map);
		break;
	case BPF_MAP_TYPE_QUEUE:
	case BPF_MAP_TYPE_STACK:
		add_push(c, map);
		break;
	default:
		add_count(c, map, type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH);
	}
}

static void add_begin(struct code *c, int who)
{
	add(c, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, who);
	add(c, BPF_ST | BPF_MEM | BPF_W, 10, 0, -16, who);
	add(c, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -24, 0);
}

static int load_code(struct code *c, const char *name)
{
	int fd;

	add_set(c, 0, 0);
	add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, name, "GPL", c->insn, c->n, NULL);
	return fd < 0 ? -errno : fd;
}

static uint64_t place_of(void (*function)(void))
{
	unsigned long from, to, offset, at = (unsigned long)function;
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t place = 0;
	char line[512];

	while (f && !place && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && from <= at && at < to)
			place = at - from + offset;
	if (f)
		fclose(f);
	return place;
}

static uint32_t type_of(const char *pmu)
{
	unsigned int type = 0;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

/*
 * Attach the program to a function of this process only, or to the GPU kernel step_one if function is NULL. Returns the
 * event's file descriptor, or -errno.
 */
static inline int attach_at(void (*function)(void), int prog)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type_of(function ? "uprobe" : "kprobe") };
	int event;

	attr.config1 = (uintptr_t)(function ? "/proc/self/exe" : "cuda__step_one");
	attr.config2 = function ? place_of(function) : 0;
	event = (int)syscall(SYS_perf_event_open, &attr, function ? 0 : -1, function ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) < 0 || ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	return event;
}

#endif
