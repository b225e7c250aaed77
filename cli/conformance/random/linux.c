/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs random programs on the Linux kernel with BPF_PROG_TEST_RUN. The interpreter must match the Linux kernel's
 * instructions and maps.
 *
 * A program without tail calls has the type SYSCALL, whose context is an arbitrary block of bytes: gpubpf's context.
 * SYSCALL programs are sleepable and cannot tail-call. So a program with tail calls has the type SOCKET_FILTER, and
 * reads gpubpf's context from an array. Afterwards the contents of the Linux kernel's maps are copied into an arena and
 * compared like the maps of a device. Programs that the Linux kernel's verifier refuses are skipped.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "gpubpf/ctx.h"
#include "random.h"

#define LDDW 0x18 /* takes two instructions; the source register selects the kind of constant (RFC 9669, 5.4) */
#define MAP_BY_FD 1
#define VALUE_BY_FD 2
#define CALL 0x85
#define LOCAL_CALL 1
#define EXIT 0x95
#define STX8 0x7b
#define CTX_REG 6 /* register that holds gpubpf's context (state.h) */
#define MOV 0xbf
#define LDX8 0x79
/*
 * Stack slot that random programs do not use (state.h). It saves the Linux kernel's context if gpubpf's context is in a
 * map.
 */
#define KERNEL_CTX_SLOT (-112)
#define CPUS_MAX 4096

/* the maps whose types the Linux kernel has too */
static const uint32_t used[] = { GEN_ARRAY,      GEN_HASH,       GEN_DATA,        GEN_PERCPU,      GEN_COUNTER,
				 GEN_QUEUE,      GEN_STACK,      GEN_PERCPU_HASH, GEN_LONG_HASH,   GEN_ODD_ARRAY,
				 GEN_LARGE_HASH, GEN_INNER_HASH, GEN_INNER_HASH2, GEN_INNER_ARRAY, GEN_INNER_ARRAY2 };
#define NMAPS_USED (sizeof(used) / sizeof(used[0]))

struct run {
	const struct random_group *g;
	/*
	 * the maps' contents: before the run as filled by random_reset(), after the run as copied from the Linux kernel
	 */
	void *arena;
	int fd[GEN_NMAPS]; /* file descriptors of the Linux kernel's maps; -1: not created */
	/* file descriptor of the array with gpubpf's context; -1: gpubpf's context is the program's context */
	int ctx;
	int prog[GEN_PARTS]; /* file descriptors of the loaded parts; -1: not loaded */
	uint32_t cpu;        /* number of the CPU to which this thread is pinned */
	uint8_t *values;     /* buffer for the values of all CPUs */
};

static int bpf(int cmd, union bpf_attr *attr)
{
	long r = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int access_elem(const struct run *r, int cmd, uint32_t map, const void *key, void *value)
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

/* Return where r->values holds the value of the CPU to which this thread is pinned. */
static uint8_t *own_cpu_value(const struct run *r, uint32_t map)
{
	return is_percpu(map) ? r->values + (size_t)r->cpu * GEN_VALUE : r->values;
}

/*
 * Returns true for maps that all programs share: maps of maps and their inner maps. They are filled only once, because
 * the Linux kernel waits for all possible readers whenever a map of maps is filled.
 */
static bool is_shared(uint32_t map)
{
	return map >= GEN_OUTER_ARRAY && map <= GEN_INNER_ARRAY2;
}

/* Delete the entries that the previous program left. Arrays need no deletion, because all their values are set anew. */
static void delete_entries(const struct run *r, uint32_t map)
{
	for (uint32_t key = 0; key < GEN_KEYS; key++)
		access_elem(r, BPF_MAP_DELETE_ELEM, map, &key, NULL);
}

static int make_map(struct run *r, uint32_t map)
{
	const struct gpubpf_map *m = &r->g->maps[map];
	struct gpubpf_map_view view = view_of(r, map);
	union bpf_attr attr = { .map_type = m->type->number };
	uint64_t cursor = 0;
	uint8_t key[GEN_MAX_KEY_BYTES];
	int err = 0;

	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	if (r->fd[map] >= 0)
		delete_entries(r, map);
	else
		r->fd[map] = bpf(BPF_MAP_CREATE, &attr);
	if (r->fd[map] < 0)
		return r->fd[map];
	while (!err && m->key_size && !is_percpu(map) && gpubpf_map_iterate(&view, &cursor, key, r->values) == 0)
		err = access_elem(r, BPF_MAP_UPDATE_ELEM, map, key, r->values);
	return err;
}

static int make_array(uint32_t type, uint32_t value_size, uint32_t entries, int inner)
{
	union bpf_attr attr = { .map_type = type };

	attr.key_size = 4;
	attr.value_size = value_size;
	attr.max_entries = entries;
	attr.inner_map_fd = (uint32_t)inner;
	return bpf(BPF_MAP_CREATE, &attr);
}

/* Fill a map of maps or a map of programs with the file descriptors fds of its elements. */
static int fill_elements(const struct run *r, uint32_t map, const int *fds)
{
	const struct gpubpf_map *m = &r->g->maps[map];
	int err = 0;

	for (uint32_t i = 0; !err && i < m->nelements; i++)
		if (fds[m->elements[i].map] >= 0)
			err = access_elem(r, BPF_MAP_UPDATE_ELEM, map, &m->elements[i].key,
					  (void *)&fds[m->elements[i].map]);
	return err;
}

/* Create a map of maps. Its inner maps must exist. */
static int make_outer(struct run *r, uint32_t map)
{
	const struct gpubpf_map *m = &r->g->maps[map];

	if (r->fd[map] >= 0)
		return 0;
	r->fd[map] = make_array(m->type->number, 4, m->max_entries, r->fd[m->elements[0].map]);
	return r->fd[map] < 0 ? r->fd[map] : fill_elements(r, map, r->fd);
}

static int make_maps(struct run *r, bool has_tail_calls)
{
	int err = 0;

	for (size_t m = 0; !err && m < NMAPS_USED; m++)
		err = make_map(r, used[m]);
	for (uint32_t m = GEN_OUTER_ARRAY; !err && m <= GEN_OUTER_HASH; m++)
		err = make_outer(r, m);
	if (err || !has_tail_calls)
		return err;
	r->fd[GEN_PROGS] = make_array(BPF_MAP_TYPE_PROG_ARRAY, 4, GEN_SLOTS, 0);
	r->ctx = make_array(BPF_MAP_TYPE_ARRAY, sizeof(struct gpubpf_ctx), 1, 0);
	return r->fd[GEN_PROGS] < 0 ? r->fd[GEN_PROGS] : r->ctx < 0 ? r->ctx : 0;
}

/*
 * Emit three instructions that replace the program's move of r1 to CTX_REG. They save the Linux kernel's context, and
 * load the address of gpubpf's context.
 */
static uint32_t replace_ctx(const struct run *r, struct gpubpf_raw_insn *out)
{
	out[0] = (struct gpubpf_raw_insn){ .code = STX8, .regs = 10 | 1 << 4, .off = KERNEL_CTX_SLOT };
	out[1] = (struct gpubpf_raw_insn){ .code = LDDW, .regs = CTX_REG | VALUE_BY_FD << 4, .imm = r->ctx };
	out[2] = (struct gpubpf_raw_insn){ 0 };
	return 3;
}

/*
 * Translate a part for the Linux kernel. Map indices become file descriptors. The first function stores r0 into the
 * context before it exits, because BPF_PROG_TEST_RUN returns only 32 bits of r0.
 */
static uint32_t translate(const struct run *r, const struct random_program *p, uint32_t begin, uint32_t end,
			  struct gpubpf_raw_insn *out)
{
	uint32_t n = 0;
	bool done = false;

	for (uint32_t i = begin; i < end; i++) {
		struct gpubpf_raw_insn insn = p->insns[i];
		uint32_t src = insn.regs >> 4;

		if (r->ctx >= 0 && insn.code == MOV && insn.regs == (CTX_REG | 1 << 4) && !done) {
			n += replace_ctx(r, out + n);
			continue;
		}
		if (r->ctx >= 0 && insn.code == MOV && insn.regs == (1 | CTX_REG << 4) && !done)
			insn = (struct gpubpf_raw_insn){ .code = LDX8, .regs = 1 | 10 << 4, .off = KERNEL_CTX_SLOT };

		if (insn.code == EXIT && !done) {
			out[n++] = (struct gpubpf_raw_insn){ .code = STX8,
							     .regs = CTX_REG,
							     .off = offsetof(struct gpubpf_ctx, ax) };
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

static int load(const struct gpubpf_raw_insn *insns, uint32_t n, bool has_tail_calls)
{
	union bpf_attr attr = { .prog_type = has_tail_calls ? BPF_PROG_TYPE_SOCKET_FILTER : BPF_PROG_TYPE_SYSCALL };

	attr.insn_cnt = n;
	attr.insns = (uintptr_t)insns;
	attr.license = (uintptr_t)"GPL"; /* all helpers are permitted */
	attr.prog_flags = has_tail_calls ? 0 : BPF_F_SLEEPABLE;
	return bpf(BPF_PROG_LOAD, &attr);
}

/*
 * Load all parts, and store their file descriptors in the map of programs. Returns false if the Linux kernel refuses a
 * part.
 */
static bool load_parts(struct run *r, const struct random_program *p)
{
	static struct gpubpf_raw_insn insns[GEN_INSNS + 3];
	uint32_t parts = random_parts(p);

	for (uint32_t i = 0; i < parts && (!i || r->ctx >= 0); i++) {
		uint32_t n = translate(r, p, p->begin[i], i + 1 < parts ? p->begin[i + 1] : p->n, insns);

		r->prog[i] = load(insns, n, r->ctx >= 0);
		if (r->prog[i] < 0)
			return false;
	}
	return r->ctx < 0 || fill_elements(r, GEN_PROGS, r->prog) == 0;
}

/* Run a SYSCALL program with gpubpf's context, which the Linux kernel copies back afterwards. */
static int test_run(int prog, struct gpubpf_ctx *ctx)
{
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)prog;
	attr.test.ctx_in = (uintptr_t)ctx;
	attr.test.ctx_size_in = sizeof(*ctx);
	return bpf(BPF_PROG_TEST_RUN, &attr);
}

/* Run a SOCKET_FILTER program on an empty packet. gpubpf's context is the value of an array. */
static int run_filter(const struct run *r, struct gpubpf_ctx *ctx)
{
	static const uint8_t packet[64];
	union bpf_attr attr = { 0 }, elem = { .map_fd = (uint32_t)r->ctx };
	uint32_t key = 0;
	int err;

	attr.test.prog_fd = (uint32_t)r->prog[0];
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	elem.key = (uintptr_t)&key;
	elem.value = (uintptr_t)ctx;
	err = bpf(BPF_MAP_UPDATE_ELEM, &elem);
	if (!err)
		err = bpf(BPF_PROG_TEST_RUN, &attr);
	return err ? err : bpf(BPF_MAP_LOOKUP_ELEM, &elem);
}

static void copy_entries(const struct run *r, uint32_t map)
{
	struct gpubpf_map_view view = view_of(r, map);
	union bpf_attr attr = { .map_fd = (uint32_t)r->fd[map] };
	uint8_t key[GEN_MAX_KEY_BYTES], next[GEN_MAX_KEY_BYTES];

	attr.next_key = (uintptr_t)next;
	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0) {
		memcpy(key, next, sizeof(key));
		attr.key = (uintptr_t)key;
		if (access_elem(r, BPF_MAP_LOOKUP_ELEM, map, key, r->values) == 0)
			gpubpf_map_update(&view, key, own_cpu_value(r, map), BPF_ANY);
	}
}

/* Copy the values of a queue or a stack into the arena. A stack returns its values in reverse order. */
static void copy_values(const struct run *r, uint32_t map)
{
	struct gpubpf_map_view view = view_of(r, map);
	uint64_t values[8][GEN_VALUE / 8];
	uint32_t n = 0;

	while (n < 8 && access_elem(r, BPF_MAP_LOOKUP_AND_DELETE_ELEM, map, NULL, values[n]) == 0)
		n++;
	for (uint32_t i = 0; i < n; i++)
		gpubpf_map_update(&view, NULL, values[map == GEN_STACK ? n - 1 - i : i], BPF_ANY);
}

/* Clear the arena's maps, and copy the values that the program left in the Linux kernel's maps. */
static void copy_maps(const struct run *r)
{
	memset(r->arena, 0, r->g->size);
	gpubpf_arena_init(r->arena, &r->g->unit, &r->g->layout);
	for (size_t m = 0; m < NMAPS_USED; m++)
		if (r->g->maps[used[m]].key_size)
			copy_entries(r, used[m]);
		else
			copy_values(r, used[m]);
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void close_maps(struct run *r, bool all)
{
	for (uint32_t m = 0; m < GEN_NMAPS; m++)
		if (all || !is_shared(m)) {
			close_all(&r->fd[m], 1);
			r->fd[m] = -1;
		}
}

/* Returns 0, -errno, or 1 if the Linux kernel refuses the program. */
static int run_program(struct run *r, const struct random_program *p, uint64_t *r0)
{
	bool has_tail_calls = random_has_tail_calls(p);
	struct gpubpf_ctx ctx;
	int err;

	memset(r->prog, -1, sizeof(r->prog));
	r->ctx = -1;
	err = make_maps(r, has_tail_calls);
	if (!err) {
		random_ctx(p->launch, &ctx);
		err = !load_parts(r, p) ? 1 : has_tail_calls ? run_filter(r, &ctx) : test_run(r->prog[0], &ctx);
	}
	if (!err) {
		*r0 = has_tail_calls ? (uint32_t)ctx.ax : ctx.ax;
		copy_maps(r);
	}
	close_all(r->prog, GEN_PARTS);
	close_maps(r, false);
	close_all(&r->ctx, 1);
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

/* Pin this thread to its current CPU. Then it is known which per-CPU values a program uses. */
static int pin_to_cpu(struct run *r)
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
		     struct gpubpf_reason *why)
{
	struct random_group *g = calloc(1, sizeof(*g));
	struct run r = { .g = g, .values = calloc(CPUS_MAX, GEN_MAX_VALUE_BYTES) };
	struct gpubpf_diag diag;
	void *host = NULL;
	int err = g && r.values ? pin_to_cpu(&r) : -ENOMEM;

	memset(r.fd, -1, sizeof(r.fd));
	gpubpf_diag_init(&diag);
	if (!err)
		err = random_group_init(g, programs, n, &diag);
	if (!err && (!(host = malloc(g->size)) || !(r.arena = malloc(g->size))))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++)
		err = compare(&r, i, programs[i], host, &outcomes[i], &diag);
	if (err < 0 && diag.code)
		gpubpf_diag_brief(&diag, why->text, sizeof(why->text));
	close_maps(&r, true);
	if (g)
		random_group_finish(g);
	free(host);
	free(r.arena);
	free(r.values);
	free(g);
	return err;
}

int random_check_linux(void)
{
	static const struct gpubpf_raw_insn nothing[] = { { .code = 0xb7 }, { .code = EXIT } };
	struct gpubpf_ctx ctx = { 0 };
	int prog = load(nothing, 2, false), err = prog < 0 ? prog : test_run(prog, &ctx);

	if (prog >= 0)
		close(prog);
	return err;
}
