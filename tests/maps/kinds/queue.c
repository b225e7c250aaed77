/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests queues and stacks: random operations against a simple model, and the model against the Linux kernel's maps if
 * bpf(2) is permitted. Then many threads run at once: no value may be lost or duplicated, and the order must hold.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define ROOM 17
#define SIZE 13
#define OPS 40000
#define THREADS 4
#define EACH 20000

enum op { PUSH, POP, PEEK, DELETE, NEXT, NOPS };

/* a map under test: gpubpf's, the model, or the Linux kernel's */
struct subject {
	int (*run)(void *self, enum op op, void *value, uint64_t flags);
	void *self;
};

struct model {
	bool stack;
	uint32_t count;
	uint8_t value[ROOM][SIZE]; /* oldest first */
};

static int model_push(struct model *m, const void *value, uint64_t flags)
{
	if (flags != BPF_ANY && flags != BPF_EXIST)
		return -EINVAL;
	if (m->count == ROOM && flags != BPF_EXIST)
		return -E2BIG;
	if (m->count == ROOM)
		memmove(m->value[0], m->value[1], (--m->count) * SIZE);
	memcpy(m->value[m->count++], value, SIZE);
	return 0;
}

static int model_look(struct model *m, void *value, bool take)
{
	uint32_t at = m->stack ? m->count - 1 : 0;

	memset(value, 0, SIZE);
	if (!m->count)
		return -ENOENT;
	memcpy(value, m->value[at], SIZE);
	if (take && !m->stack)
		memmove(m->value[0], m->value[1], (m->count - 1) * SIZE);
	m->count -= take;
	return 0;
}

static int model_run(void *self, enum op op, void *value, uint64_t flags)
{
	switch (op) {
	case PUSH: return model_push(self, value, flags);
	case POP: case PEEK: return model_look(self, value, op == POP);
	default: return -EINVAL;
	}
}

static int ours_run(void *self, enum op op, void *value, uint64_t flags)
{
	switch (op) {
	case PUSH: return gpubpf_map_update(self, NULL, value, flags);
	case POP: return gpubpf_map_lookup_and_delete(self, NULL, value);
	case PEEK: return gpubpf_map_lookup(self, NULL, value);
	case DELETE: return gpubpf_map_delete(self, NULL);
	default: return gpubpf_map_next_key(self, NULL, value);
	}
}

static int kernel_run(void *self, enum op op, void *value, uint64_t flags)
{
	static const int command[] = { BPF_MAP_UPDATE_ELEM, BPF_MAP_LOOKUP_AND_DELETE_ELEM, BPF_MAP_LOOKUP_ELEM,
				       BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY };
	uint8_t next[SIZE];
	union bpf_attr attr = { .map_fd = (uint32_t)*(int *)self, .value = (uintptr_t)value, .flags = flags };

	if (op == NEXT)
		attr.next_key = (uintptr_t)next;
	return syscall(SYS_bpf, command[op], &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* Run the same random operations on both. Prints the first difference; returns true if there is none. */
static bool agree(const struct subject *s, struct model *m, uint64_t seed, bool zeroed)
{
	uint8_t a[SIZE], b[SIZE];

	for (uint32_t i = 0; i < OPS; i++) {
		bool filling = i / 64 % 2; /* 64 steps that fill the map alternate with 64 that empty it */
		enum op op = random_next(&seed) % 8 < 4 ? (filling ? PUSH : POP) : random_next(&seed) % NOPS;
		uint64_t flags = op == PUSH && random_next(&seed) % 4 == 0 ? random_next(&seed) % 5 : 0;
		int ra, rb;

		for (uint32_t j = 0; j < SIZE; j++)
			a[j] = b[j] = (uint8_t)random_next(&seed);
		ra = s->run(s->self, op, a, flags);
		rb = model_run(m, op, b, flags);
		if (ra != rb || ((op == POP || op == PEEK) && (ra == 0 || zeroed) && memcmp(a, b, SIZE))) {
			note("operation %u (%u, flags %llu): %d, wanted %d", i, op, (unsigned long long)flags, ra, rb);
			return false;
		}
	}
	return true;
}

/* Returns true if an iteration visits the model's values from the oldest to the newest. */
static bool iterates(const struct gpubpf_map_view *view, const struct model *m)
{
	uint8_t value[SIZE];
	uint64_t cursor = 0;
	uint32_t n = 0;

	while (gpubpf_map_iterate(view, &cursor, NULL, value) == 0)
		if (n == m->count || memcmp(value, m->value[n++], SIZE))
			return false;
	return n == m->count;
}

static void test_model(uint32_t type, uint64_t seed)
{
	struct model m = { .stack = type == BPF_MAP_TYPE_STACK }, again = m;
	const char *name = gpubpf_map_type_find(type)->name;
	union bpf_attr attr = { .map_type = type, .value_size = SIZE, .max_entries = ROOM };
	struct fixture f;
	int fd;

	fixture_begin(&f);
	fixture_map(&f, type, 0, SIZE, ROOM, 0);
	if (!ok(fixture_ready(&f) == 0, "%s: layout", name))
		return;
	ok(agree(&(struct subject){ ours_run, &f.view[0] }, &m, seed, true), "%s: as the model", name);
	for (uint8_t i = 0; i < 5; i++) {
		uint8_t value[SIZE] = { i };

		ours_run(&f.view[0], PUSH, value, BPF_EXIST);
		model_push(&m, value, BPF_EXIST);
	}
	ok(m.count >= 5 && iterates(&f.view[0], &m), "%s: iterates over %u values", name, m.count);
	fixture_end(&f);
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0) {
		skip(name, "bpf(2) is not allowed here: %s", strerror(errno));
		return;
	}
	ok(agree(&(struct subject){ kernel_run, &fd }, &again, seed, false), "%s: the Linux kernel does the same", name);
	close(fd);
}

/* -- many threads -- */

struct item {
	uint32_t thread, number;
	uint64_t check, more;
};

struct work {
	struct fixture *f;
	uint32_t thread;
	bool pushes, replaces;
	uint32_t *pushed;          /* number of pushes that each thread has completed */
	uint64_t done, refused, wrong, unordered;
	uint8_t *seen;             /* [THREADS * EACH] */
};

static struct item item_of(uint32_t thread, uint32_t number)
{
	uint64_t check = thread * 0x9e3779b97f4a7c15ull ^ number * 0xff51afd7ed558ccdull;

	return (struct item){ thread, number, check, ~check };
}

static void push_all(struct work *w)
{
	for (uint32_t i = 0; i < EACH; i++) {
		struct item item = item_of(w->thread, i);
		int err = gpubpf_map_update(&w->f->view[0], NULL, &item, w->replaces ? BPF_EXIST : BPF_ANY);

		while (err == -E2BIG || err == -EBUSY) {
			w->refused++;
			sched_yield();
			err = gpubpf_map_update(&w->f->view[0], NULL, &item, BPF_ANY);
		}
		w->wrong += err != 0;
	}
	__atomic_fetch_add(w->pushed, 1, __ATOMIC_RELEASE);
}

static void note_item(struct work *w, const struct item *item, uint32_t *last)
{
	struct item wanted = item_of(item->thread, item->number);

	if (item->thread >= THREADS || item->number >= EACH || memcmp(item, &wanted, sizeof(wanted))) {
		w->wrong++;
		return;
	}
	w->done++;
	w->wrong += __atomic_fetch_add(&w->seen[item->thread * EACH + item->number], 1, __ATOMIC_RELAXED);
	w->unordered += item->number + 1 <= last[item->thread];
	last[item->thread] = item->number + 1;
}

/* Pop values until all have arrived. The values of each pushing thread must arrive in their order. */
static void pop_all(struct work *w)
{
	uint32_t last[THREADS] = { 0 };
	bool over = false;
	struct item item;
	int err = 0;

	while (!over || !err) {
		over = __atomic_load_n(w->pushed, __ATOMIC_ACQUIRE) == THREADS;
		if (gpubpf_map_lookup(&w->f->view[0], NULL, &item) == 0) {
			struct item wanted = item_of(item.thread, item.number);

			w->wrong += memcmp(&item, &wanted, sizeof(item)) != 0;
		}
		err = gpubpf_map_lookup_and_delete(&w->f->view[0], NULL, &item);
		if (!err)
			note_item(w, &item, last);
		else if (err != -ENOENT && err != -EBUSY)
			w->wrong++;
		else if (err == -EBUSY)
			err = 0;
	}
}

static void *work(void *arg)
{
	struct work *w = arg;

	if (w->pushes)
		push_all(w);
	else
		pop_all(w);
	return NULL;
}

static void test_threads(uint32_t type, bool replaces)
{
	const char *name = gpubpf_map_type_find(type)->name;
	struct work w[2 * THREADS], sum = { 0 };
	uint8_t *seen = calloc(THREADS, EACH);
	pthread_t thread[2 * THREADS];
	uint32_t pushed = 0, lost = 0;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, type, 0, sizeof(struct item), 61, 0);
	if (!ok(seen && fixture_ready(&f) == 0, "%s: layout", name))
		return;
	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		w[i] = (struct work){ .f = &f, .thread = i / 2, .pushes = i % 2, .replaces = replaces, .pushed = &pushed,
				      .seen = seen };
		pthread_create(&thread[i], NULL, work, &w[i]);
	}
	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum.done += w[i].done;
		sum.refused += w[i].refused;
		sum.wrong += w[i].wrong;
		sum.unordered += w[i].unordered;
	}
	for (uint32_t i = 0; i < THREADS * EACH; i++)
		lost += !seen[i];
	ok(!sum.wrong && (replaces || !lost), "%s%s: %llu values came out whole, none twice, %u %s", name,
	   replaces ? ", replacing" : "", (unsigned long long)sum.done, lost, replaces ? "replaced" : "lost");
	if (type == BPF_MAP_TYPE_QUEUE)
		ok(!sum.unordered, "%s: in order", name);
	ok(gpubpf_map_drops(&f.view[0]) >= sum.refused && gpubpf_map_lookup(&f.view[0], NULL, &w) == -ENOENT,
	   "%s: %llu refused and counted, nothing left", name, (unsigned long long)sum.refused);
	free(seen);
	fixture_end(&f);
}

/*
 * A thread was killed while it held a claim. Later claims are delayed for a limited time only, and the stack stays
 * consistent.
 */
static void test_stuck_stack(void)
{
	const char *name = "STACK";
	struct item item = item_of(0, 1), got;
	struct fixture f;
	u64 cell;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_STACK, 0, sizeof(item), 4, 0);
	if (!ok(fixture_ready(&f) == 0 && gpubpf_map_update(&f.view[0], NULL, &item, 0) == 0, "%s: one value", name))
		return;
	cell = (uintptr_t)f.arena + f.layout.maps[0].data;
	gpubpf_store_u32(cell, 2);
	ok(gpubpf_map_lookup_and_delete(&f.view[0], NULL, &got) == -EBUSY && gpubpf_map_lookup(&f.view[0], NULL, &got) == -EBUSY &&
		   gpubpf_map_drops(&f.view[0]) == 2 && got.check == 0,
	   "%s: a value that is never written is waited for, and told", name);
	gpubpf_store_u32(cell, 3);
	ok(gpubpf_map_lookup_and_delete(&f.view[0], NULL, &got) == 0 && got.check == item.check, "%s: and comes out in the end", name);
	fixture_end(&f);
}

/* A queue with four entries and one value, which is 100. No thread holds a ticket yet. */
struct held {
	struct fixture f;
	u64 map, values, cells;
};

static void begin_held(struct held *h)
{
	struct item item = item_of(0, 100);

	fixture_begin(&h->f);
	fixture_map(&h->f, BPF_MAP_TYPE_QUEUE, 0, sizeof(item), 4, 0);
	if (!ok(fixture_ready(&h->f) == 0 && !gpubpf_map_update(&h->f.view[0], NULL, &item, BPF_ANY), "held: one value"))
		exit(1);
	h->map = h->f.env.arena + h->f.layout.maps[0].ctl;
	h->values = gpubpf_queue_entries(&h->f.env, GPUBPF_LAYOUT_PASS(h->f.layout.maps), GPUBPF_QUEUE_RING);
	h->cells = gpubpf_queue_entries(&h->f.env, GPUBPF_LAYOUT_PASS(h->f.layout.maps), GPUBPF_QUEUE_FREE_RING);
}

static bool is_popped(struct held *h, uint32_t number)
{
	struct item got;

	return !gpubpf_map_lookup_and_delete(&h->f.view[0], NULL, &got) && got.number == number;
}

static bool is_next(struct held *h, uint32_t number)
{
	struct item got;

	return !gpubpf_map_lookup(&h->f.view[0], NULL, &got) && got.number == number && is_popped(h, number);
}

static int push(struct held *h, uint32_t number)
{
	struct item item = item_of(1, number);

	return gpubpf_map_update(&h->f.view[0], NULL, &item, BPF_ANY);
}

/* Push and pop in order for many rounds; three of the four entries can be used. */
static bool run_others(struct held *h)
{
	struct item got;
	bool good = true;
	uint32_t i;

	for (i = 0; i < 40; i++)
		good &= !push(h, i) && is_next(h, i);
	for (i = 0; i < 3; i++)
		good &= !push(h, i);
	good &= push(h, i) == -E2BIG;
	for (i = 0; i < 3; i++)
		good &= is_next(h, i);
	return good && gpubpf_map_lookup_and_delete(&h->f.view[0], NULL, &got) == -ENOENT;
}

static bool all_four(struct held *h)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < 4; i++)
		good &= !push(h, i);
	good &= push(h, i) == -E2BIG;
	for (i = 0; i < 4; i++)
		good &= is_next(h, i);
	return good;
}

/*
 * A thread stops while it holds a ticket to push. Others pass its entry, and later the thread pushes with a new ticket.
 */
static void test_stopped_push(void)
{
	struct gpubpf_queue_visit visit = { 0 };
	struct item item = item_of(2, 7);
	struct held h;
	u64 ticket, n;
	u32 cell;

	begin_held(&h);
	n = 4 * GPUBPF_QUEUE_ENTRIES;
	ok(is_next(&h, 100) && gpubpf_queue_claim(h.map + GPUBPF_QUEUE_FREE, 4, 0), "held, put: a cell is claimed");
	cell = gpubpf_queue_cell(h.map, h.cells, 4, 0, &visit);
	ticket = gpubpf_queue_ticket(h.map + GPUBPF_QUEUE_RING, 0);
	ok(run_others(&h), "held, put: others go on");
	ok(!gpubpf_queue_accepts(h.map + GPUBPF_QUEUE_RING, gpubpf_load_u64(h.values + ticket % n * 8), ticket, ticket / n + 1),
	   "held, put: the ticket is void");
	gpubpf_copy_in(gpubpf_queue_cell_at(&h.f.env, GPUBPF_LAYOUT_PASS(h.f.layout.maps), cell), (u8 *)&item, sizeof(item));
	while (!gpubpf_queue_offer(h.map + GPUBPF_QUEUE_RING, h.values, 4, 0, cell))
		;
	gpubpf_count(h.map + GPUBPF_QUEUE_VALUES);
	ok(is_next(&h, 7) && all_four(&h), "held, put: its value comes out, and there is room for four again");
	fixture_end(&h.f);
}

/*
 * A thread stops while it holds a ticket to pop. Its value stays until the thread continues, and others are not
 * blocked.
 */
static void test_stopped_pop(void)
{
	struct gpubpf_queue_visit visit = { 0 };
	struct held h;
	u64 ring, at;
	u32 cell;

	begin_held(&h);
	ring = h.map + GPUBPF_QUEUE_RING;
	visit.ticket = gpubpf_queue_ticket(ring + GPUBPF_QUEUE_OUT, 0);
	visit.looks = 1;
	ok(visit.ticket == 0 && gpubpf_queue_claim(h.map + GPUBPF_QUEUE_VALUES, 0, 0), "held, take: the value is claimed");
	ok(run_others(&h), "held, take: others go on");
	ok(gpubpf_load_u64(h.values) & GPUBPF_QUEUE_UNSAFE, "held, take: its entry was passed over");
	cell = gpubpf_queue_fetch(ring, h.values, 4, 0, &visit);
	at = gpubpf_queue_cell_at(&h.f.env, GPUBPF_LAYOUT_PASS(h.f.layout.maps), cell ? cell : 1);
	ok(cell && ((struct item *)at)->number == 100, "held, take: its value is still there");
	while (cell && !gpubpf_queue_offer(h.map + GPUBPF_QUEUE_FREE_RING, h.cells, 4, 0, cell))
		;
	gpubpf_count(h.map + GPUBPF_QUEUE_FREE);
	ok(all_four(&h), "held, take: and there is room for four again");
	fixture_end(&h.f);
}

/* The owner of a cell retries after failed attempts, until one of the queue's two rings of tickets accepts the cell. */
static void test_slow_rings(void)
{
	u32 rings[] = { GPUBPF_QUEUE_FREE_RING, GPUBPF_QUEUE_RING };
	struct held h;

	for (u32 i = 0; i < 2; i++) {
		u64 n = 4 * GPUBPF_QUEUE_ENTRIES;

		begin_held(&h);
		for (u64 e = 0; e < n; e++) /* invalidates the tickets of the next 400 rounds */
			if (i == 0 || e > 0)
				gpubpf_store_u64((i ? h.values : h.cells) + e * 8, gpubpf_queue_entry(400, 0));
		gpubpf_store_u32(h.map + GPUBPF_QUEUE_STUCK, 1);
		ok(i ? push(&h, 101) == 0 : is_next(&h, 100), "slow ring %u: it is done", rings[i]);
		ok(gpubpf_load_u64(h.map + rings[i]) > GPUBPF_SHORT_WAIT_TURNS, "slow ring %u: after more than a hasty one's turns", rings[i]);
		ok((!i || (is_popped(&h, 100) && is_popped(&h, 101))) && all_four(&h), "slow ring %u: and no cell is lost", rings[i]);
		fixture_end(&h.f);
	}
}

/* A push must not use a ticket that a pop has abandoned, even if the entry is empty and belongs to an earlier round. */
static void test_abandoned_ticket(void)
{
	struct gpubpf_queue_visit old = { 0 }, later = { 0 };
	struct held h;
	u64 ring, n = 4 * GPUBPF_QUEUE_ENTRIES, ticket;

	begin_held(&h);
	ring = h.map + GPUBPF_QUEUE_RING;
	gpubpf_store_u64(ring, n); /* the next push uses entry 0 again */
	ticket = gpubpf_queue_ticket(ring, 0);
	old.looks = 1;
	gpubpf_store_u64(ring + GPUBPF_QUEUE_OUT, n);
	for (u32 i = 0; i <= GPUBPF_QUEUE_MAX_LOOKS; i++)
		gpubpf_queue_fetch(ring, h.values, 4, 0, &later);
	ok(later.ticket == n && !later.looks, "left: who takes out by the second round's ticket went");
	ok(gpubpf_queue_fetch(ring, h.values, 4, 0, &old) == 1, "left: the first round's value is taken");
	ok(!gpubpf_queue_accepts(ring, gpubpf_load_u64(h.values), ticket, 2), "left: who puts in sees that it is too late");
	fixture_end(&h.f);
}

/* Many lanes request more values than exist: they get the existing ones, and the count of values stays correct. */
static void test_claims(void)
{
	struct held h;
	u64 at;

	begin_held(&h);
	at = h.map + GPUBPF_QUEUE_VALUES;
	gpubpf_store_u64(at, GPUBPF_QUEUE_FAST_CLAIM_MIN + 10);
	ok(gpubpf_queue_claim_some(at, 0, 32) == 32 &&
		   gpubpf_queue_claim_some(at, 22, 2 * GPUBPF_QUEUE_FAST_CLAIM_MIN) == GPUBPF_QUEUE_FAST_CLAIM_MIN && (s64)gpubpf_load_u64(at) == -22,
	   "claims: all of many");
	gpubpf_store_u64(at, 5);
	ok(gpubpf_queue_claim_some(at, 2, 32) == 7 && (s64)gpubpf_load_u64(at) == -2 && !gpubpf_queue_claim_some(at, 2, 1),
	   "claims: all of few");
	fixture_end(&h.f);
}

/* A stopped thread holds the only cell. A push that replaces the oldest value retries, and then reports the failure. */
static void test_held_replaced(void)
{
	struct item item = item_of(0, 1);
	struct fixture f;
	u64 map;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_QUEUE, 0, sizeof(item), 1, 0);
	if (!ok(fixture_ready(&f) == 0, "held, replaced: layout"))
		return;
	map = f.env.arena + f.layout.maps[0].ctl;
	ok(gpubpf_queue_claim(map + GPUBPF_QUEUE_FREE, 1, 0) && gpubpf_map_update(&f.view[0], NULL, &item, BPF_ANY) == -E2BIG &&
		   gpubpf_map_update(&f.view[0], NULL, &item, BPF_EXIST) == -EBUSY && gpubpf_map_drops(&f.view[0]) == 2,
	   "held, replaced: no room, and nothing to take the place of");
	gpubpf_count(map + GPUBPF_QUEUE_FREE);
	ok(!gpubpf_map_update(&f.view[0], NULL, &item, BPF_EXIST), "held, replaced: there is, when it goes on");
	fixture_end(&f);
}

int main(void)
{
	uint64_t seed = random_seed();

	for (uint32_t type = BPF_MAP_TYPE_QUEUE; type <= BPF_MAP_TYPE_STACK; type++) {
		test_model(type, seed + type * 2);
		test_threads(type, false);
		test_threads(type, true);
	}
	test_stuck_stack();
	test_stopped_push();
	test_stopped_pop();
	test_abandoned_ticket();
	test_slow_rings();
	test_claims();
	test_held_replaced();
	return done();
}
