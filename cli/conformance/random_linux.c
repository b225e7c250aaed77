/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on the Linux kernel, by BPF_PROG_TEST_RUN: its own instructions and maps, of which the interpreter's are
 * nothing but the description. A program becomes one of type SYSCALL, whose context is any bytes: those of ours. What it
 * leaves in the kernel's maps is brought into an arena, to be compared as what a device left there. What the kernel's
 * verifier refuses is left out.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/diag.h"
#include "gpubpf/ctx.h"
#include "random.h"

#define LDDW 0x18 /* RFC 9669 5.4: of two instructions, the source register says what of */
#define MAP_BY_FD 1
#define VALUE_BY_FD 2
#define CALL 0x85
#define LOCAL_CALL 1
#define EXIT 0x95
#define STX8 0x7b
#define CTX_REG 6 /* of a program while it runs (random_gen.c) */
#define CPUS_MAX 4096

/* the maps that both have, beside what only GPUs have */
static const uint32_t used[] = { GEN_ARRAY, GEN_HASH, GEN_DATA, GEN_PERCPU, GEN_COUNTER, GEN_QUEUE, GEN_STACK,
				 GEN_PERCPU_HASH };
#define NUSED (sizeof(used) / sizeof(used[0]))

struct run {
	const struct random_group *g;
	void *arena;             /* what the program begins with; then what it left */
	int fd[GEN_NMAPS];       /* -1: not there */
	uint32_t cpu;            /* that of this thread, which stays there */
	uint8_t *values;         /* a value for each CPU */
};

static int bpf(int cmd, union bpf_attr *attr)
{
	long r = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int on_elem(const struct run *r, int cmd, uint32_t map, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)r->fd[map] };

	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return bpf(cmd, &attr);
}

static struct gpubpf_map_view view_of(const struct run *r, uint32_t map)
{
	return (struct gpubpf_map_view){ r->arena, &r->g->maps[map], &r->g->layout.maps[map] };
}

static bool is_percpu(uint32_t map)
{
	return map == GEN_PERCPU || map == GEN_PERCPU_HASH;
}

/* The value that this thread's CPU has. */
static uint8_t *mine(const struct run *r, uint32_t map)
{
	return is_percpu(map) ? r->values + (size_t)r->cpu * GEN_VALUE : r->values;
}

static int make_map(struct run *r, uint32_t map)
{
	const struct gpubpf_map *m = &r->g->maps[map];
	struct gpubpf_map_view view = view_of(r, map);
	union bpf_attr attr = { .map_type = m->type->number };
	uint64_t cursor = 0;
	uint32_t key;
	int err = 0;

	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	r->fd[map] = bpf(BPF_MAP_CREATE, &attr);
	if (r->fd[map] < 0)
		return r->fd[map];
	while (!err && m->key_size && !is_percpu(map) && gpubpf_map_iterate(&view, &cursor, &key, r->values) == 0)
		err = on_elem(r, BPF_MAP_UPDATE_ELEM, map, &key, r->values);
	return err;
}

/* The program as the kernel takes it: descriptors of maps, and at the end of its first function r0 is stored into the
 * context, since the kernel tells but half of it. */
static uint32_t translate(const struct run *r, const struct random_program *p, struct gpubpf_raw_insn *out)
{
	uint32_t n = 0;
	bool done = false;

	for (uint32_t i = 0; i < p->n; i++) {
		struct gpubpf_raw_insn insn = p->insns[i];
		uint32_t src = insn.regs >> 4;

		if (insn.code == EXIT && !done) {
			out[n++] = (struct gpubpf_raw_insn){ .code = STX8, .regs = CTX_REG, .off = offsetof(struct gpubpf_ctx, ax) };
			done = true;
		}
		if (insn.code == CALL && src == LOCAL_CALL && !done)
			insn.imm++;
		if (insn.code == LDDW && src == MAP_BY_FD)
			insn.imm = r->fd[insn.imm];
		if (insn.code == LDDW && src == VALUE_BY_FD)
			insn.imm = r->fd[insn.imm];
		out[n++] = insn;
		if (insn.code == LDDW)
			out[n++] = p->insns[++i];
	}
	return n;
}

static int load(const struct gpubpf_raw_insn *insns, uint32_t n)
{
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SYSCALL };

	attr.insn_cnt = n;
	attr.insns = (uintptr_t)insns;
	attr.license = (uintptr_t)"GPL"; /* the kernel's word for: all helpers */
	attr.prog_flags = BPF_F_SLEEPABLE;
	return bpf(BPF_PROG_LOAD, &attr);
}

/* The kernel hands the context back. */
static int test_run(int prog, struct gpubpf_ctx *ctx)
{
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)prog;
	attr.test.ctx_in = (uintptr_t)ctx;
	attr.test.ctx_size_in = sizeof(*ctx);
	return bpf(BPF_PROG_TEST_RUN, &attr);
}

static void bring_entries(const struct run *r, uint32_t map)
{
	struct gpubpf_map_view view = view_of(r, map);
	union bpf_attr attr = { .map_fd = (uint32_t)r->fd[map] };
	uint32_t key, next;

	attr.next_key = (uintptr_t)&next;
	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0) {
		key = next;
		attr.key = (uintptr_t)&key;
		if (on_elem(r, BPF_MAP_LOOKUP_ELEM, map, &key, r->values) == 0)
			gpubpf_map_update(&view, &key, mine(r, map), BPF_ANY);
	}
}

/* A stack's come out from its other end. */
static void bring_values(const struct run *r, uint32_t map)
{
	struct gpubpf_map_view view = view_of(r, map);
	uint64_t values[8][GEN_VALUE / 8];
	uint32_t n = 0;

	while (n < 8 && on_elem(r, BPF_MAP_LOOKUP_AND_DELETE_ELEM, map, NULL, values[n]) == 0)
		n++;
	for (uint32_t i = 0; i < n; i++)
		gpubpf_map_update(&view, NULL, values[map == GEN_STACK ? n - 1 - i : i], BPF_ANY);
}

/* An arena without the values that programs begin with, and then with those that this one left. */
static void bring_maps(const struct run *r)
{
	memset(r->arena, 0, r->g->size);
	gpubpf_arena_init(r->arena, &r->g->unit, &r->g->layout);
	for (size_t m = 0; m < NUSED; m++)
		if (r->g->maps[used[m]].key_size)
			bring_entries(r, used[m]);
		else
			bring_values(r, used[m]);
}

/* 0; 1: the kernel does not take the program; -errno */
static int run_program(struct run *r, const struct random_program *p, uint64_t *r0)
{
	static struct gpubpf_raw_insn insns[GEN_INSNS + 1];
	struct gpubpf_ctx ctx;
	int err = 0, prog;

	for (size_t m = 0; m < GEN_NMAPS; m++)
		r->fd[m] = -1;
	for (size_t m = 0; !err && m < NUSED; m++)
		err = make_map(r, used[m]);
	if (!err) {
		random_ctx(p->launch, &ctx);
		prog = load(insns, translate(r, p, insns));
		err = prog < 0 ? 1 : test_run(prog, &ctx);
		if (prog >= 0)
			close(prog);
	}
	if (!err) {
		*r0 = ctx.ax;
		bring_maps(r);
	}
	for (size_t m = 0; m < GEN_NMAPS; m++)
		if (r->fd[m] >= 0)
			close(r->fd[m]);
	return err;
}

static int compare(struct run *r, uint32_t i, const struct random_program *p, void *host, struct random_outcome *o,
		   struct gpubpf_diag *diag)
{
	struct random_group *g = (struct random_group *)r->g;
	int err;

	*o = (struct random_outcome){ .launch = p->launch };
	random_reset(g, i, host);
	random_reset(g, i, r->arena);
	err = random_run_host(g, i, host, &o->want, diag);
	if (!err)
		err = run_program(r, p, &o->got);
	o->left_out = err == 1;
	if (err)
		return err < 0 ? err : 0;
	o->differs = random_differs(g, host, r->arena, false, o->what, sizeof(o->what)) || o->want != o->got;
	return 0;
}

/* This thread stays on its CPU, whose copies of values are then its own. */
static int stay(struct run *r)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPUS_MAX)
		return -ENOTSUP;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	r->cpu = (uint32_t)cpu;
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

int random_run_linux(const struct random_program *const *programs, uint32_t n, struct random_outcome *outcomes,
		     struct gpubpf_why *why)
{
	struct random_group *g = calloc(1, sizeof(*g));
	struct run r = { .g = g, .values = calloc(CPUS_MAX, GEN_VALUE) };
	struct gpubpf_diag diag;
	void *host = NULL;
	int err = g && r.values ? stay(&r) : -ENOMEM;

	gpubpf_diag_init(&diag);
	if (!err)
		err = random_group_init(g, programs, n, &diag);
	if (!err && (!(host = malloc(g->size)) || !(r.arena = malloc(g->size))))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++)
		err = compare(&r, i, programs[i], host, &outcomes[i], &diag);
	if (err < 0 && diag.code)
		snprintf(why->text, sizeof(why->text), "instruction %u: %.200s", diag.pc, diag.what);
	if (g)
		random_group_finish(g);
	free(host);
	free(r.arena);
	free(r.values);
	free(g);
	return err;
}

int random_ask_linux(void)
{
	static const struct gpubpf_raw_insn nothing[] = { { .code = 0xb7 }, { .code = EXIT } };
	struct gpubpf_ctx ctx = { 0 };
	int prog = load(nothing, 2), err = prog < 0 ? prog : test_run(prog, &ctx);

	if (prog >= 0)
		close(prog);
	return err;
}
