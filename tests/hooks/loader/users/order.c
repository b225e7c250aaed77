/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order FIRST LAST, or order cases: a loader, which is also the application, runs the cases from FIRST to before LAST.
 * A GPU program and two uprobes of the Linux kernel use four maps, in each order of loading, naming and attaching. A
 * case passes if all maps have every program's values. Prints the maps that are wrong, or for "cases" the number of
 * cases.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "opencl.h"
#include "putting.h"

#define THREADS 256
#define STEPS 10                   /* calls of each uprobe's function in each step of a case */
#define MAPS 4
#define PROGS 3
#define ORDERS 24                  /* number of orders of four maps */
#define LOADS 6                    /* number of orders of three programs */
#define RING_BYTES (1 << 16)
#define ENTRIES 4096
#define TIMEOUT_S 60              /* seconds to wait for late records */

enum { GPU, FIRST, SECOND }; /* the programs; each stores its own number */

/* When the loader attaches the programs, and when it opens its ring buffers. */
enum { ATTACH_LATER, ATTACH_AT_ONCE, ATTACH_REVERSED, OPEN_EARLY, WAYS };

static const enum bpf_map_type sets[][MAPS] = {
	{ BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY },
	{ BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_PERCPU_HASH, BPF_MAP_TYPE_PERCPU_ARRAY },
	{ BPF_MAP_TYPE_RINGBUF, BPF_MAP_TYPE_STACK, BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_RINGBUF },
};

#define CASES (sizeof(sets) / sizeof(sets[0]) * ORDERS * LOADS * WAYS)

struct one_case {
	const enum bpf_map_type *types;
	int fd[MAPS], named[MAPS], loaded[PROGS], prog[PROGS], event[PROGS];
	const char *step; /* the last step, for a message */
	unsigned int way;
	unsigned long put[PROGS], seen[MAPS][PROGS];
	struct ring_buffer *rings;
};

void first_step(void);
void second_step(void);
__attribute__((noinline)) void first_step(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void second_step(void)
{
	__asm__ volatile("" ::: "memory");
}

/* -- programs -- */

static int load(struct one_case *o, int who)
{
	static const char *const names[PROGS] = { "cuda__count", "first", "second" };
	struct code c = { .n = 0 };

	o->step = names[who];
	add_begin(&c, who);
	for (int i = 0; i < MAPS; i++)
		add_map_store(&c, o->types[o->named[i]], o->fd[o->named[i]]);
	o->prog[who] = load_code(&c, names[who]);
	return o->prog[who] < 0 ? o->prog[who] : 0;
}

static int attach(struct one_case *o, int who)
{
	void (*const functions[PROGS])(void) = { NULL, first_step, second_step };

	o->step = "attach";
	o->event[who] = attach_at(functions[who], o->prog[who]);
	return o->event[who] < 0 ? o->event[who] : 0;
}

/* -- records -- */

struct seen_ring {
	struct one_case *o;
	int map;
};

static int on_record(void *ctx, void *data, size_t size)
{
	struct seen_ring *r = ctx;
	uint64_t who = PROGS;

	if (size == sizeof(who))
		memcpy(&who, data, sizeof(who));
	r->o->seen[r->map][who < PROGS ? who : 0] += who < PROGS ? 1 : 1000000;
	return 0;
}

static int open_rings(struct one_case *o)
{
	static struct seen_ring rings[MAPS];

	o->step = "open ring buffers";
	for (int i = 0; i < MAPS; i++) {
		rings[i] = (struct seen_ring){ o, i };
		if (o->types[i] != BPF_MAP_TYPE_RINGBUF)
			continue;
		if (!o->rings)
			o->rings = ring_buffer__new(o->fd[i], on_record, &rings[i], NULL);
		else if (ring_buffer__add(o->rings, o->fd[i], on_record, &rings[i]))
			return -errno;
		if (!o->rings)
			return -errno;
	}
	return 0;
}

static void step(struct one_case *o)
{
	for (int i = 0; i < STEPS; i++) {
		first_step();
		second_step();
	}
	o->put[FIRST] += o->event[FIRST] >= 0 ? STEPS : 0;
	o->put[SECOND] += o->event[SECOND] >= 0 ? STEPS : 0;
}

static void read_values(struct one_case *o, int map)
{
	static uint64_t values[1 << 16];
	uint64_t who;

	if (o->types[map] == BPF_MAP_TYPE_QUEUE || o->types[map] == BPF_MAP_TYPE_STACK) {
		while (!bpf_map_lookup_and_delete_elem(o->fd[map], NULL, &who))
			o->seen[map][who < PROGS ? who : 0]++;
		return;
	}
	for (uint32_t key = 0; key < PROGS; key++) {
		memset(values, 0, sizeof(values));
		if (!bpf_map_lookup_elem(o->fd[map], &key, values))
			for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
				o->seen[map][key] += values[i];
	}
}

static bool has_all(const struct one_case *o, int map)
{
	return !memcmp(o->seen[map], o->put, sizeof(o->put));
}

static bool has_rings(const struct one_case *o)
{
	bool all = true;

	for (int m = 0; m < MAPS; m++)
		all &= o->types[m] != BPF_MAP_TYPE_RINGBUF || has_all(o, m);
	return all;
}

static void read_all(struct one_case *o)
{
	time_t until = time(NULL) + TIMEOUT_S;

	while (!has_rings(o) && time(NULL) < until)
		ring_buffer__poll(o->rings, 20);
	ring_buffer__poll(o->rings, 100); /* reads duplicates */
	for (int m = 0; m < MAPS; m++)
		if (o->types[m] != BPF_MAP_TYPE_RINGBUF)
			read_values(o, m);
}

/* -- a case -- */

/* Store the number-th permutation of 0 to n - 1 in order[]. */
static void permute(unsigned int number, int n, int *order)
{
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n; i > 1; number /= i, i--) {
		int at = (int)(number % (unsigned int)i), last = order[i - 1];

		order[i - 1] = order[at];
		order[at] = last;
	}
}

static int make_maps(struct one_case *o)
{
	for (int i = 0; i < MAPS; i++) {
		enum bpf_map_type type = o->types[i];
		bool ring = type == BPF_MAP_TYPE_RINGBUF,
		     keyed = !ring && type != BPF_MAP_TYPE_QUEUE && type != BPF_MAP_TYPE_STACK;
		char name[8];

		snprintf(name, sizeof(name), "m%d", i);
		o->fd[i] = bpf_map_create(type, name, keyed ? 4 : 0, ring ? 0 : 8,
					  ring  ? RING_BYTES :
					  keyed ? 16 :
						  ENTRIES,
					  NULL);
		if (o->fd[i] < 0)
			return -errno;
	}
	return 0;
}

static int load_all(struct one_case *o)
{
	int err = 0;

	for (int i = 0; i < PROGS && !err; i++) {
		err = load(o, o->loaded[i]);
		if (!err && o->way == ATTACH_AT_ONCE)
			err = attach(o, o->loaded[i]);
		step(o);
	}
	for (int i = 0; i < PROGS && !err && o->way != ATTACH_AT_ONCE; i++) {
		err = attach(o, o->loaded[o->way == ATTACH_REVERSED ? PROGS - 1 - i : i]);
		step(o);
	}
	return err;
}

static void close_case(struct one_case *o)
{
	ring_buffer__free(o->rings);
	for (int i = 0; i < PROGS; i++) {
		if (o->event[i] >= 0)
			close(o->event[i]);
		if (o->prog[i] >= 0)
			close(o->prog[i]);
	}
	for (int i = 0; i < MAPS; i++)
		if (o->fd[i] >= 0)
			close(o->fd[i]);
}

static struct one_case new_case(unsigned int number)
{
	struct one_case o = { .way = number % WAYS, .step = "create maps" };

	number /= WAYS;
	permute(number % LOADS, PROGS, o.loaded);
	number /= LOADS;
	permute(number % ORDERS, MAPS, o.named);
	o.types = sets[number / ORDERS];
	memset(o.fd, -1, sizeof(o.fd));
	memset(o.prog, -1, sizeof(o.prog));
	memset(o.event, -1, sizeof(o.event));
	return o;
}

static bool is_exact(const struct one_case *o, unsigned int number)
{
	bool exact = true;

	for (int m = 0; m < MAPS; m++)
		if (!has_all(o, m)) {
			printf("case %u: map %d of type %d has %lu %lu %lu, not %lu %lu %lu\n", number, m, o->types[m],
			       o->seen[m][0], o->seen[m][1], o->seen[m][2], o->put[0], o->put[1], o->put[2]);
			exact = false;
		}
	return exact;
}

static bool run_case(unsigned int number, const struct opencl *cl, cl_kernel kernel)
{
	struct one_case o = new_case(number);
	int err = make_maps(&o);
	bool exact;

	if (!err && o.way == OPEN_EARLY)
		err = open_rings(&o);
	if (!err)
		err = load_all(&o);
	if (!err && !o.rings)
		err = open_rings(&o);
	if (!err) {
		opencl_run(cl, kernel, THREADS, 64);
		clFinish(cl->queue);
		o.put[GPU] += THREADS;
		step(&o);
		read_all(&o);
	} else {
		printf("case %u: %s: %s\n", number, o.step, strerror(-err));
	}
	exact = !err && is_exact(&o, number);
	close_case(&o);
	return exact;
}

int main(int argc, char **argv)
{
	unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int last = argc > 2 ? (unsigned int)atoi(argv[2]) : CASES, ran = 0, exact = 0;
	struct opencl cl;
	cl_kernel kernel;
	cl_mem mem;

	if (argc > 1 && !strcmp(argv[1], "cases")) {
		printf("cases %zu\n", CASES);
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	cl = opencl_start("__kernel void step_one(__global int *v) { v[get_global_id(0)] += 1; }");
	kernel = opencl_kernel(&cl, "step_one");
	mem = opencl_buffer(&cl, NULL, THREADS * sizeof(int));
	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	for (unsigned int i = first; i < last && i < CASES; i++) {
		exact += run_case(i, &cl, kernel);
		ran++;
	}
	printf("%u of %u exact\n", exact, ran);
	return exact != ran;
}
