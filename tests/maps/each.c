/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper 164 on each kind that has it: after each of many random changes a program goes through the map, by the interpreter and
 * by the Linux kernel (BPF_PROG_TEST_RUN, where bpf(2) is allowed), and both have seen as many elements and the same ones.
 * Then threads put keys in and take them out while others go through: what stays is seen once, under its own value.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/interp/interp.h"
#include "fixture.h"
#include "tests/tap.h"
#include "tests/verify/asm.h"
#include "tests/verify/linux.h"

#define ROUNDS 400
#define ROOM 24
#define LRU_ROOM 512      /* of these nothing is forgotten here */
#define WORDS 3           /* of keys, of 4 bytes */
#define MAX_CPUS 256

enum { TRACE, MAP, MAPS };

/* what a program is told, and what it tells */
struct trace {
	uint64_t flags, most;
	int64_t result;
	uint64_t sum;
};

/* The sum of what is made of each key and its value; it ends when there were as many as `most`. */
static const char text[] =
	"*(u32 *)(r10 -4) = 0\n r2 = r10\n r2 += -4\n r1 = map[map0]\n call map_lookup_elem\n if r0 != 0 goto there\n r0 = 0\n exit\n"
	"there:\n r6 = r0\n *(u64 *)(r10 -16) = 0\n r1 = *(u64 *)(r6 +8)\n *(u64 *)(r10 -24) = r1\n"
	"r1 = map[map1]\n r2 = func each\n r3 = r10\n r3 += -24\n r4 = *(u64 *)(r6 +0)\n call for_each_map_elem\n"
	"*(u64 *)(r6 +16) = r0\n r1 = *(u64 *)(r10 -16)\n *(u64 *)(r6 +24) = r1\n r0 = 0\n exit\n"
	"each:\n r5 = *(u32 *)(r2 +0)\n"
	"%s"
	"r0 = *(u64 *)(r3 +0)\n r5 ^= r0\n r5 *= 40503\n r0 = r5\n r0 >>= 9\n r5 ^= r0\n"
	"r0 = *(u64 *)(r4 +8)\n r0 += r5\n *(u64 *)(r4 +8) = r0\n"
	"r1 = *(u64 *)(r4 +0)\n r1 += -1\n *(u64 *)(r4 +0) = r1\n r0 = 0\n if r1 != 0 goto more\n r0 = 1\nmore:\n exit\n";
/* of a key of three words */
static const char more_words[] =
	"r5 *= 31\n r0 = *(u32 *)(r2 +4)\n r5 += r0\n r5 *= 31\n r0 = *(u32 *)(r2 +8)\n r5 += r0\n";

struct both {
	struct fixture f;
	struct assembly a;
	struct gpubpf_insn insns[ASM_MAX];
	struct linux_verifier kernel;
	int prog, cpus;       /* of the kernel; prog < 0: it cannot be asked */
};

static const struct {
	uint32_t type, room, words;
	bool copies;
} kinds[] = {
	{ BPF_MAP_TYPE_HASH, ROOM, WORDS, false },
	{ BPF_MAP_TYPE_ARRAY, ROOM, 1, false },
	{ BPF_MAP_TYPE_PERCPU_HASH, ROOM, WORDS, true },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, ROOM, 1, true },
	{ BPF_MAP_TYPE_LRU_HASH, LRU_ROOM, WORDS, false },
	{ BPF_MAP_TYPE_LRU_PERCPU_HASH, LRU_ROOM, WORDS, true },
	{ BPF_MAP_TYPE_HASH, ROOM, 1, false },
};

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

static int kernel_element(int cmd, int map, const void *key, const void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value };

	return bpf(cmd, &attr);
}

static bool assemble(struct assembly *a, const struct fixture *f, uint32_t words)
{
	char lines[2048];
	bool good = true;

	a->maps = f->maps;
	a->nmaps = f->unit.nmaps;
	snprintf(lines, sizeof(lines), text, words > 1 ? more_words : "");
	for (char *save, *line = strtok_r(lines, "\n", &save); line && good; line = strtok_r(NULL, "\n", &save))
		good = asm_line(a, line);
	return good && asm_finish(a);
}

static bool prepare(struct both *b, size_t kind)
{
	struct fixture *f = &b->f;
	struct gpubpf_diag diag;

	memset(b, 0, sizeof(*b));
	gpubpf_diag_init(&diag);
	fixture_begin(f);
	fixture_map(f, BPF_MAP_TYPE_ARRAY, 4, sizeof(struct trace), 1, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_WRITE);
	fixture_map(f, kinds[kind].type, 4 * kinds[kind].words, 8, kinds[kind].room, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ);
	if (fixture_ready(f) || !assemble(&b->a, f, kinds[kind].words))
		return note("%s", b->a.error), false;
	f->prog = (struct gpubpf_prog){ .name = "each", .site = GPUBPF_SITE_ENTRY, .insns = b->insns, .ninsns = b->a.n };
	if (gpubpf_insn_decode(b->a.insns, b->a.n, b->insns, &diag) < 0 ||
	    gpubpf_verify(&f->unit, &f->prog, &(struct gpubpf_verify_opts){ 0 }, &diag) < 0)
		return note("%s", diag.what), false;
	b->prog = linux_open(&b->kernel, f->maps, MAPS);
	if (!b->prog)
		b->prog = linux_load(&b->kernel, BPF_PROG_TYPE_SOCKET_FILTER, b->a.insns, b->a.n);
	b->cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	return true;
}

static void finish(struct both *b)
{
	if (b->prog >= 0)
		close(b->prog);
	linux_close(&b->kernel);
	gpubpf_facts_destroy(b->f.prog.facts);
	fixture_end(&b->f);
}

static bool ours(struct both *b, struct trace *t)
{
	static const struct gpubpf_ctx ctx;
	const struct gpubpf_interp_job job = { .unit = &b->f.unit, .prog = &b->f.prog, .ctx = &ctx, .arena = b->f.arena, .layout = &b->f.layout };
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;
	uint32_t zero = 0;

	gpubpf_diag_init(&diag);
	if (gpubpf_map_update(&b->f.view[TRACE], &zero, t, 0) || gpubpf_interp_run(&job, &result, &diag))
		return note("%s", diag.what), false;
	return !gpubpf_map_lookup(&b->f.view[TRACE], &zero, t);
}

static bool kernels(struct both *b, struct trace *t)
{
	char packet[64] = { 0 };
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)b->prog, .data_in = (uintptr_t)packet, .data_size_in = sizeof(packet) } };
	uint32_t zero = 0;

	return !kernel_element(BPF_MAP_UPDATE_ELEM, b->kernel.fds[TRACE], &zero, t) && !bpf(BPF_PROG_TEST_RUN, &attr) &&
	       !kernel_element(BPF_MAP_LOOKUP_ELEM, b->kernel.fds[TRACE], &zero, t);
}

/* The same on both; values of all CPUs are one. */
static bool change(struct both *b, size_t kind, uint64_t *seed)
{
	uint32_t key[WORDS] = { (uint32_t)(random_next(seed) % ROOM), 7, 9 };
	uint64_t values[MAX_CPUS];
	bool erase = random_next(seed) % 3 == 0;
	int ra, rb;

	for (uint32_t w = 1; w < WORDS; w++)
		key[w] *= key[0];
	values[0] = random_next(seed);
	for (uint32_t c = 1; c < MAX_CPUS; c++)
		values[c] = values[0];
	ra = erase ? gpubpf_map_delete(&b->f.view[MAP], key) : gpubpf_map_update(&b->f.view[MAP], key, values, 0);
	rb = b->prog < 0 ? ra : kernel_element(erase ? BPF_MAP_DELETE_ELEM : BPF_MAP_UPDATE_ELEM, b->kernel.fds[MAP], key, erase ? NULL : values);
	return ra == rb;
}

/* How many there are, by next key. */
static int64_t count(const struct both *b)
{
	uint32_t key[WORDS];
	int64_t n = 0;

	for (int err = gpubpf_map_next_key(&b->f.view[MAP], NULL, key); !err; err = gpubpf_map_next_key(&b->f.view[MAP], key, key))
		n++;
	return n;
}

static bool walk(struct both *b, uint64_t *seed)
{
	struct trace a = { .flags = random_next(seed) % 16 == 0, .most = random_next(seed) % 2 ? 1000 : 1 + random_next(seed) % ROOM }, k = a;
	int64_t n = count(b), want = a.flags ? -EINVAL : n < (int64_t)a.most ? n : (int64_t)a.most;
	uint64_t most = a.most;

	if (!ours(b, &a) || a.result != want)
		return note("%lld elements, %lld wanted", (long long)a.result, (long long)want), false;
	if (b->prog < 0)
		return true;
	/* which come first is their own business */
	if (!kernels(b, &k) || k.result != a.result || ((int64_t)most >= n && k.sum != a.sum))
		return note("the kernel has %lld, %llx, we %lld, %llx", (long long)k.result, (unsigned long long)k.sum, (long long)a.result,
			    (unsigned long long)a.sum), false;
	return true;
}

static void test_kind(size_t kind, uint64_t *seed)
{
	static struct both b;
	const char *name = gpubpf_map_type_find(kinds[kind].type)->name;
	bool good = prepare(&b, kind);
	uint32_t i;

	for (i = 0; good && i < ROUNDS; i++)
		good = change(&b, kind, seed) && walk(&b, seed);
	ok(good, "%s, keys of %u bytes: %u walks between changes", name, 4 * kinds[kind].words, i);
	if (b.prog < 0)
		skip(name, "bpf(2) is not allowed");
	else
		ok(good, "%s: as the kernel's own, by %d CPUs", name, b.cpus);
	finish(&b);
}

/* -- at once -- */

#define STAY 64
#define GO 64             /* keys of each writer's own */
#define WRITERS 2
#define WALKS 60000

struct table {
	struct fixture f;
	atomic_bool end;
};

static void make_key(uint32_t *key, uint32_t i)
{
	for (uint32_t w = 0; w < WORDS; w++)
		key[w] = i * (w + 1);
}

struct writer {
	struct table *t;
	uint32_t first;
};

static void *write_keys(void *arg)
{
	const struct writer *w = arg;
	uint64_t seed = w->first * 77 + 1, value;
	uint32_t key[WORDS];

	while (!atomic_load(&w->t->end)) {
		uint32_t i = w->first + (uint32_t)(random_next(&seed) % GO);

		make_key(key, i);
		value = i * 1000;
		if (random_next(&seed) % 2)
			gpubpf_map_update(&w->t->f.view[0], key, &value, 0);
		else
			gpubpf_map_delete(&w->t->f.view[0], key);
	}
	return NULL;
}

/* One walk of helper 164's function: how many of those that stay were not seen once, or keys that are none. */
static uint32_t faults(struct table *t)
{
	const struct gpubpf_map_layout *l = &t->f.layout.maps[0];
	uint32_t key[WORDS], times[STAY] = { 0 }, wrong = 0;
	uint64_t at = 0, value;

	while ((value = gpubpf_hash_each(&t->f.env, GPUBPF_LAYOUT_PASS(l), &at, (u8 *)key)) != 0) {
		for (uint32_t w = 1; w < WORDS; w++)
			wrong += key[w] != key[0] * (w + 1);
		if (key[0] >= STAY)
			continue;
		times[key[0]]++;
		wrong += gpubpf_load_u64(value) != key[0] * 1000u;
	}
	for (uint32_t i = 0; i < STAY; i++)
		wrong += times[i] != 1;
	return wrong;
}

static void test_at_once(void)
{
	static struct table t;
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	uint32_t key[WORDS], wrong = 0;
	bool good;

	fixture_begin(&t.f);
	fixture_map(&t.f, BPF_MAP_TYPE_HASH, sizeof(key), 8, STAY + WRITERS * GO, GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE);
	good = !fixture_ready(&t.f);
	for (uint32_t i = 0; good && i < STAY; i++) {
		uint64_t value = i * 1000;

		make_key(key, i);
		good = !gpubpf_map_update(&t.f.view[0], key, &value, 0);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ &t, STAY + i * GO };
		good = good && !pthread_create(&threads[i], NULL, write_keys, &writers[i]);
	}
	for (uint32_t i = 0; good && i < WALKS; i++)
		wrong += faults(&t);
	atomic_store(&t.end, true);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	ok(good && !wrong, "%d walks while %d threads write: %u elements that stay were not seen once, whole", WALKS, WRITERS, wrong);
	fixture_end(&t.f);
}

int main(void)
{
	uint64_t seed = random_seed();

	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		test_kind(kind, &seed);
	test_at_once();
	return done();
}
