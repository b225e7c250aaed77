/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests hash tables with a value per multiprocessor (a "CPU"). Programs on a chosen multiprocessor and bpf(2) perform
 * random operations, which are compared with a model. The model is compared with the Linux kernel's map, with programs
 * that run on a chosen CPU (BPF_PROG_TEST_RUN), if bpf(2) is permitted. Then many threads run at once.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define ROOM 24
#define LRU_ROOM 256     /* larger than the number of keys, so that none is evicted */
#define KEYS 40
#define MAX_CPUS 64
#define OPS 20000
#define THREADS 4
#define EACH 50000

enum op { PROG_UPDATE, PROG_DELETE, PROG_ADD, UPDATE, DELETE, LOOKUP, TAKE, NOPS };

/* arguments of an operation; a program reads them from a map */
struct args {
	uint64_t flags;
	uint32_t key, pad;
	uint64_t value;
};

struct subject {
	int (*run)(void *self, enum op op, uint32_t cpu, const struct args *args, uint64_t *values);
	void *self;
};

struct model {
	uint32_t room, cpus, used;
	bool there[KEYS];
	uint64_t value[KEYS][MAX_CPUS];
};

static int model_update(struct model *m, uint32_t cpu, const struct args *a, const uint64_t *values)
{
	bool there = m->there[a->key];

	if (a->flags > BPF_EXIST)
		return -EINVAL;
	if (there && a->flags == BPF_NOEXIST)
		return -EEXIST;
	if (!there && a->flags == BPF_EXIST)
		return -ENOENT;
	if (!there && m->used == m->room)
		return -E2BIG;
	if (!there)
		memset(m->value[a->key], 0, sizeof(m->value[0]));
	m->used += !there;
	m->there[a->key] = true;
	if (values)
		memcpy(m->value[a->key], values, m->cpus * sizeof(*values));
	else
		m->value[a->key][cpu] = a->value;
	return 0;
}

static int model_run(void *self, enum op op, uint32_t cpu, const struct args *a, uint64_t *values)
{
	struct model *m = self;

	if (op == PROG_UPDATE || op == UPDATE)
		return model_update(m, cpu, a, op == UPDATE ? values : NULL);
	if (!m->there[a->key])
		return op == PROG_ADD ? 0 : -ENOENT;
	if (op == PROG_ADD)
		m->value[a->key][cpu] += a->value;
	if (op == LOOKUP || op == TAKE)
		memcpy(values, m->value[a->key], m->cpus * sizeof(*values));
	if (op == DELETE || op == PROG_DELETE || op == TAKE) {
		m->there[a->key] = false;
		m->used--;
	}
	return op == PROG_ADD;
}

static int ours_run(void *self, enum op op, uint32_t cpu, const struct args *a, uint64_t *values)
{
	struct gpubpf_host_thread at = { .grid_dim = { 1, 1, 1 }, .block_dim = { 1, 1, 1 }, .dims = 1, .sm = cpu };
	struct fixture *f = self;
	u64 address;
	int ret = 0;

	gpubpf_host_thread_set(&at);
	switch (op) {
	case PROG_UPDATE: ret = (int)gpubpf_host_update(&f->env, &f->view[0], &a->key, &a->value, a->flags); break;
	case PROG_DELETE: ret = (int)gpubpf_host_delete(&f->env, &f->view[0], &a->key); break;
	case PROG_ADD:
		address = gpubpf_host_lookup(&f->env, &f->view[0], &a->key);
		ret = address != 0;
		if (address)
			gpubpf_add_u64(address, a->value);
		break;
	case UPDATE: ret = gpubpf_map_update(&f->view[0], &a->key, values, a->flags); break;
	case DELETE: ret = gpubpf_map_delete(&f->view[0], &a->key); break;
	case LOOKUP: ret = gpubpf_map_lookup(&f->view[0], &a->key, values); break;
	case TAKE: ret = gpubpf_map_lookup_and_delete(&f->view[0], &a->key, values); break;
	case NOPS: break;
	}
	gpubpf_host_thread_set(NULL);
	return ret;
}

/* -- the Linux kernel -- */

struct kernel {
	int map, args, prog[3];
};

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int kernel_map(uint32_t type, uint32_t value_size, uint32_t entries)
{
	union bpf_attr attr = { .map_type = type, .key_size = 4, .value_size = value_size, .max_entries = entries };

	return bpf(BPF_MAP_CREATE, &attr);
}

static int kernel_element(int cmd, int map, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value, .flags = flags };

	return bpf(cmd, &attr);
}

static int kernel_prog(const struct kernel *k, enum op op)
{
	const struct bpf_insn begin[] = {
		{ 0x18, 6, BPF_PSEUDO_MAP_VALUE, 0, k->args }, { 0 },   /* r6 = args */
		{ 0x18, 1, BPF_PSEUDO_MAP_FD, 0, k->map }, { 0 },       /* r1 = map */
		{ 0xbf, 2, 6, 0, 0 }, { 0x07, 2, 0, 0, offsetof(struct args, key) },
		{ 0xbf, 3, 6, 0, 0 }, { 0x07, 3, 0, 0, offsetof(struct args, value) },
		{ 0x79, 4, 6, offsetof(struct args, flags), 0 },
		{ 0x85, 0, 0, 0, op == PROG_UPDATE ? 2 : op == PROG_DELETE ? 3 : 1 },
	};
	const struct bpf_insn add[] = {                                 /* if (r0) *r0 += value, and 1 */
		{ 0x15, 0, 0, 5, 0 },
		{ 0x79, 1, 0, 0, 0 }, { 0x79, 2, 6, offsetof(struct args, value), 0 }, { 0x0f, 1, 2, 0, 0 },
		{ 0x7b, 0, 1, 0, 0 }, { 0xb7, 0, 0, 0, 1 },
	};
	struct bpf_insn insns[32];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)insns,
				.license = (uintptr_t)"GPL" };

	memcpy(insns, begin, sizeof(begin));
	attr.insn_cnt = sizeof(begin) / sizeof(begin[0]);
	if (op == PROG_ADD) {
		memcpy(insns + attr.insn_cnt, add, sizeof(add));
		attr.insn_cnt += sizeof(add) / sizeof(add[0]);
	}
	insns[attr.insn_cnt++] = (struct bpf_insn){ .code = 0x95 };
	return bpf(BPF_PROG_LOAD, &attr);
}

static int run_prog(const struct kernel *k, enum op op, uint32_t cpu, const struct args *a)
{
	union bpf_attr attr = { 0 };
	char packet[64] = { 0 };
	uint32_t zero = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	attr.test.prog_fd = (uint32_t)k->prog[op];
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	if (sched_setaffinity(0, sizeof(set), &set) || kernel_element(BPF_MAP_UPDATE_ELEM, k->args, &zero, a, 0) ||
	    bpf(BPF_PROG_TEST_RUN, &attr))
		return -EIO;
	return (int)attr.test.retval;
}

static int kernel_run(void *self, enum op op, uint32_t cpu, const struct args *a, uint64_t *values)
{
	static const int command[] = { [UPDATE] = BPF_MAP_UPDATE_ELEM, [DELETE] = BPF_MAP_DELETE_ELEM,
				       [LOOKUP] = BPF_MAP_LOOKUP_ELEM, [TAKE] = BPF_MAP_LOOKUP_AND_DELETE_ELEM };
	struct kernel *k = self;

	if (op <= PROG_ADD)
		return run_prog(k, op, cpu, a);
	return kernel_element(command[op], k->map, &a->key, op == DELETE ? NULL : values, op == UPDATE ? a->flags : 0);
}

/* Returns the number of CPUs that have values in the Linux kernel's maps, if programs can run on all of them. */
static uint32_t kernel_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned int first = 1, last = 0;
	cpu_set_t set;

	if (!file)
		return 0;
	if (fscanf(file, "%u-%u", &first, &last) < 1 || first)
		last = MAX_CPUS;
	fclose(file);
	if (last >= MAX_CPUS || sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) != (int)last + 1)
		return 0;
	return last + 1;
}

/* -- comparison -- */

static bool agree(const struct subject *s, struct model *m, uint64_t seed)
{
	uint64_t a[MAX_CPUS], b[MAX_CPUS];

	for (uint32_t i = 0; i < OPS; i++) {
		enum op op = random_next(&seed) % NOPS;
		struct args args = { random_next(&seed) % 8, (uint32_t)(random_next(&seed) % KEYS), 0, random_next(&seed) };
		uint32_t cpu = (uint32_t)(random_next(&seed) % m->cpus);
		int ra, rb;

		args.flags = args.flags > 3 ? 0 : args.flags;
		for (uint32_t c = 0; c < m->cpus; c++)
			a[c] = b[c] = random_next(&seed);
		ra = s->run(s->self, op, cpu, &args, a);
		rb = model_run(m, op, cpu, &args, b);
		if (ra != rb || memcmp(a, b, m->cpus * sizeof(*a))) {
			note("operation %u (%u of key %u on %u, flags %llu): %d, wanted %d", i, op, args.key, cpu,
			     (unsigned long long)args.flags, ra, rb);
			return false;
		}
	}
	return true;
}

static bool iterates(const struct gpubpf_map_view *view, const struct model *m)
{
	uint64_t values[MAX_CPUS], cursor = 0;
	uint32_t n = 0, key;

	for (; gpubpf_map_iterate(view, &cursor, &key, values) == 0; n++)
		if (key >= KEYS || !m->there[key] || memcmp(values, m->value[key], m->cpus * sizeof(*values)))
			return false;
	return n == m->used;
}

static void test_model(uint64_t seed, uint32_t type, uint32_t room, uint32_t cpus)
{
	struct model m = { .room = room, .cpus = cpus };
	const char *name = gpubpf_map_type_find(type)->name;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, type, 4, 8, room, GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	f.opts.replicas = cpus;
	if (!ok(fixture_ready(&f) == 0 && gpubpf_map_user_value_size(&f.view[0]) == cpus * 8, "%s, %u copies: layout", name, cpus))
		return;
	ok(agree(&(struct subject){ ours_run, &f }, &m, seed), "%s, %u copies: as the model", name, cpus);
	ok(iterates(&f.view[0], &m), "%s, %u copies: iterates over %u keys", name, cpus, m.used);
	fixture_end(&f);
}

static void test_kernel(uint64_t seed, uint32_t type, uint32_t room)
{
	struct model m = { .room = room, .cpus = kernel_cpus() };
	struct kernel k = { .args = kernel_map(BPF_MAP_TYPE_ARRAY, sizeof(struct args), 1),
			    .map = kernel_map(type, 8, room) };
	const char *name = gpubpf_map_type_find(type)->name;
	cpu_set_t before;

	if (!m.cpus || k.args < 0 || k.map < 0) {
		skip(name, "the Linux kernel's own: %s", m.cpus ? "bpf(2) is not allowed here" :
		     "programs cannot run on each CPU that it has values for");
		return;
	}
	sched_getaffinity(0, sizeof(before), &before);
	for (enum op op = PROG_UPDATE; op <= PROG_ADD; op++)
		k.prog[op] = kernel_prog(&k, op);
	ok(k.prog[0] >= 0 && k.prog[1] >= 0 && k.prog[2] >= 0 && agree(&(struct subject){ kernel_run, &k }, &m, seed),
	   "%s: the Linux kernel does the same, on %u CPUs", name, m.cpus);
	sched_setaffinity(0, sizeof(before), &before);
}

/* -- many threads: each adds to the values of a separate multiprocessor, and sometimes sets them -- */

struct worker {
	struct fixture *f;
	pthread_t thread;
	uint32_t id;
	uint64_t seed, wrong, added[KEYS];
};

static void *add(void *arg)
{
	struct worker *w = arg;
	struct gpubpf_host_thread at = { .grid_dim = { THREADS, 1, 1 }, .block_dim = { 1, 1, 1 },
					 .block_idx = { w->id, 0, 0 }, .dims = 1, .sm = w->id };

	gpubpf_host_thread_set(&at);
	for (uint32_t i = 0; i < EACH; i++) {
		uint32_t key = (uint32_t)(random_next(&w->seed) % ROOM);
		u64 address = gpubpf_host_lookup(&w->f->env, &w->f->view[0], &key), zero = 0;

		if (!address) {
			gpubpf_host_update(&w->f->env, &w->f->view[0], &key, &zero, BPF_NOEXIST);
			address = gpubpf_host_lookup(&w->f->env, &w->f->view[0], &key);
		}
		if (!address) {
			w->wrong++;
			continue;
		}
		w->wrong += gpubpf_load_u64(address) != w->added[key]; /* no other thread writes to this value */
		w->added[key]++;
		if (i % 16)
			gpubpf_add_u64(address, 1);
		else
			w->wrong += gpubpf_host_update(&w->f->env, &w->f->view[0], &key, &w->added[key], BPF_EXIST) != 0;
	}
	gpubpf_host_thread_set(NULL);
	return NULL;
}

static void test_threads(uint64_t seed)
{
	struct worker w[THREADS];
	uint64_t wrong = 0, values[THREADS];
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_PERCPU_HASH, 4, 8, ROOM, GPUBPF_USE_UPDATE | GPUBPF_USE_ADD);
	f.opts.replicas = THREADS;
	if (!ok(fixture_ready(&f) == 0, "threads: layout"))
		return;
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .f = &f, .id = i, .seed = seed * (i + 3) | 1 };
		pthread_create(&w[i].thread, NULL, add, &w[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		wrong += w[i].wrong;
	}
	ok(!wrong, "threads: each finds its own value as it left it (%llu not)", (unsigned long long)wrong);
	for (uint32_t key = wrong = 0; key < ROOM; key++) {
		wrong += gpubpf_map_lookup(&f.view[0], &key, values) != 0;
		for (uint32_t i = 0; i < THREADS; i++)
			wrong += values[i] != w[i].added[key];
	}
	ok(!wrong, "threads: a look-up has all of them");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	test_model(seed, BPF_MAP_TYPE_PERCPU_HASH, ROOM, 1);
	test_model(seed + 2, BPF_MAP_TYPE_PERCPU_HASH, ROOM, 3);
	test_model(seed + 4, BPF_MAP_TYPE_PERCPU_HASH, ROOM, MAX_CPUS);
	test_model(seed + 6, BPF_MAP_TYPE_LRU_PERCPU_HASH, LRU_ROOM, 3);
	test_kernel(seed + 8, BPF_MAP_TYPE_PERCPU_HASH, ROOM);
	test_kernel(seed + 10, BPF_MAP_TYPE_LRU_PERCPU_HASH, LRU_ROOM);
	test_threads(seed);
	return done();
}
