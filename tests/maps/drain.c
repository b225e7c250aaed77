/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the agent drains ring buffers while kernels write to them (maps/host/mirror.h). A second copy of the arena
 * stands in for the device's memory. Warps reserve space and write the words of their records in any order that a
 * device may use. The agent copies words in any order, and the device and the reader may run between any two words.
 * Each record must arrive once and intact, or count as dropped, even if the agent is killed between two words.
 */
#include <errno.h>
#include <linux/bpf.h>

#include "fixture.h"
#include "maps/host/mirror.h"
#include "tests/tap.h"

#define RECORDS 60000
#define WARPS 12
#define WORDS 96
#define ASKED 64

struct warp {
	u64 at[WORDS], value[WORDS];
	uint32_t n, done, first, lanes;
	bool running;
};

struct asked {
	char *to;
	const char *from;
	u64 size;
	bool pull;
};

struct world {
	struct fixture f;      /* f.arena is the mirror in host memory */
	char *device;
	struct gpubpf_mirror mirror;
	uint64_t seed;
	struct warp warps[WARPS];
	uint8_t finished[RECORDS], seen[RECORDS];
	uint32_t next, dropped, bad;
	struct asked asked[ASKED];
	uint32_t nasked;
	u64 budget;            /* number of words to copy until the agent is killed */
	uint32_t calm;         /* the larger, the less often a warp starts */
	bool batches, busy, resting, slow;
	bool counts;           /* the reader counts records and does not read them */
	uint32_t counted;
};

static uint32_t pick(struct world *w, uint32_t n)
{
	return (random_next(&w->seed) >> 20) % n;
}

static void write_at(struct warp *p, u64 at, u64 value)
{
	p->at[p->n] = at;
	p->value[p->n++] = value;
}

static void shuffle(struct world *w, struct warp *p, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = pick(w, i);
		u64 at = p->at[j], value = p->value[j];

		p->at[j] = p->at[i - 1];
		p->value[j] = p->value[i - 1];
		p->at[i - 1] = at;
		p->value[i - 1] = value;
	}
}

/* Plan the writes of gpubpf_ring_batch(), in any order. A record has 16 bytes: a number and its complement. */
static void plan_batch(struct world *w, struct warp *p, u64 at, u64 position)
{
	uint32_t lanes = p->lanes == 32 ? UINT32_MAX : (1u << p->lanes) - 1, bits[4] = { 0, 0, lanes }, i;
	uint32_t head = gpubpf_ring_batch_head(2, p->lanes);
	u64 header = gpubpf_ring_tag(position) | GPUBPF_RING_BATCH | (p->lanes - 1) << 24 | 15 << 16;

	for (i = 0; i < p->lanes; i++) {
		u64 word = p->first + i;

		bits[0] |= (word & 1) << i;
		bits[1] |= (~word & 1) << i;
		write_at(p, at + head + 8 * i, word | 1);
		write_at(p, at + head + 8 * (p->lanes + i), ~word | 1);
	}
	for (i = 0; i < (head - 8) / 8; i++) {
		header |= (bits[2 * i] & 1ull) << i;
		write_at(p, at + 8 + 8 * i, bits[2 * i] | (u64)bits[2 * i + 1] << 32 | 1);
	}
	write_at(p, at, header);
	shuffle(w, p, p->n);
}

/* Plan the writes of gpubpf_ring_single(); the header is last. */
static void plan_single(struct world *w, struct warp *p, u64 at, u64 position)
{
	write_at(p, at + 8, p->first);
	write_at(p, at + 16, ~(u64)p->first);
	shuffle(w, p, 2);
	write_at(p, at, gpubpf_ring_tag(position) | 16);
}

static void start(struct world *w, struct warp *p)
{
	const struct gpubpf_map_layout *l = &w->f.layout.maps[0];
	struct gpubpf_host_thread where = { .dims = 1, .sm = pick(w, l->copies) };
	u64 position, at;

	*p = (struct warp){ .first = w->next, .lanes = w->batches ? (pick(w, 2) ? 32 : 1 + pick(w, 32)) : 1 };
	if (w->next + p->lanes > RECORDS)
		return;
	w->next += p->lanes;
	gpubpf_host_thread_set(&where);
	at = gpubpf_ring_claim(&w->f.env, GPUBPF_LAYOUT_PASS(l),
			       w->batches ? gpubpf_ring_batch_head(2, p->lanes) + 16 * p->lanes : 24, &position);
	if (!at) {
		gpubpf_add_u64(gpubpf_ring_drops_at(&w->f.env, GPUBPF_LAYOUT_PASS(l)), p->lanes);
		w->dropped += p->lanes;
		memset(w->seen + p->first, 1, p->lanes);
		return;
	}
	p->running = true;
	if (w->batches)
		plan_batch(w, p, at, position);
	else
		plan_single(w, p, at, position);
}

/* Write one word of a random warp, or start that warp if it has ended. */
static void device_step(struct world *w)
{
	struct warp *p = &w->warps[pick(w, WARPS)];

	if (!p->running) {
		if (!w->resting && (!w->busy || !pick(w, 1 + w->calm)))
			start(w, p);
		return;
	}
	gpubpf_store_u64(p->at[p->done], p->value[p->done]);
	if (++p->done == p->n) {
		p->running = false;
		memset(w->finished + p->first, 1, p->lanes);
	}
}

static int see(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct world *w = arg;
	u64 item[2];

	memcpy(item, data, sizeof(item));
	if (size != 16 || item[0] >= RECORDS || item[1] != ~item[0] || !w->finished[item[0]] || w->seen[item[0]])
		w->bad++;
	else
		w->seen[item[0]] = 1;
	return pick(w, 50) == 0; /* a nonzero result stops the reader */
}

/* Run the reader. Returns the number of records, or -errno. */
static int64_t look(struct world *w)
{
	int64_t n = gpubpf_ring_read(&w->f.view[0], w->counts ? NULL : see, w);

	w->bad += n < 0;
	w->counted += n > 0 ? n : 0;
	return n;
}

/*
 * Copy word by word, starting at a random word. The device and the reader run in between. Returns false if the agent is
 * killed.
 */
static bool copy(struct world *w, char *to, const char *from, u64 size)
{
	u64 n = size / 8, first = n ? pick(w, n) : 0;

	for (u64 i = 0; i < n; i++) {
		u64 at = 8 * ((first + i) % n);

		if (!w->budget)
			return false;
		w->budget--;
		if (from)
			memcpy(to + at, from + at, 8);
		else
			memset(to + at, 0, 8);
		if (w->busy && !pick(w, 3))
			device_step(w);
		if (!w->slow && i % 400 == 0)
			look(w);
	}
	return true;
}

/* Perform the queued copies. Copies from the device come either before or after the others. */
static int wait(void *arg, bool all)
{
	struct world *w = arg;
	uint32_t n = w->nasked, first = pick(w, 2);
	struct asked asked[ASKED];

	memcpy(asked, w->asked, n * sizeof(*asked));
	w->nasked = 0;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n; i++) {
			struct asked a = asked[i];

			if ((pass ^ first) != a.pull)
				continue;
			if (!all && !a.pull)
				w->asked[w->nasked++] = a;
			else if (!copy(w, a.to, a.from, a.size))
				return -EIO;
		}
	return 0;
}

static int queue_copy(struct world *w, char *to, const char *from, u64 size, bool pull)
{
	if (w->nasked == ASKED && wait(w, true) < 0)
		return -EIO;
	w->asked[w->nasked++] = (struct asked){ to, from, size, pull };
	return 0;
}

static int pull(void *arg, u64 offset, void *to, u64 size)
{
	struct world *w = arg;

	return queue_copy(w, to, w->device + offset, size, true);
}

static int push(void *arg, u64 offset, const void *from, u64 size)
{
	struct world *w = arg;

	return queue_copy(w, w->device + offset, from, size, false);
}

static int zero(void *arg, u64 offset, u64 size)
{
	struct world *w = arg;

	return queue_copy(w, w->device + offset, NULL, size, false);
}

/* Stands in for threads that share the work: runs it twice in turn, and the first run does everything. */
static void run_twice(void *arg, u64 parts, void (*work)(void *on), void *on)
{
	struct world *w = arg;

	w->bad += parts < 2; /* work with a single part must not start threads */
	work(on);
	work(on);
}

static bool never(void *arg, u64 bytes)
{
	return false;
}

static bool always(void *arg, u64 bytes)
{
	return true;
}

static int nothing(void *arg, u64 offset, const void *from, u64 size)
{
	return 0;
}

static int no_zero(void *arg, u64 offset, u64 size)
{
	return 0;
}

static bool begin(struct world *w, uint64_t seed, bool batches, uint32_t bytes)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed | 1;
	w->batches = batches;
	w->busy = true;
	w->budget = UINT64_MAX;
	fixture_begin(&w->f);
	fixture_map(&w->f, BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, GPUBPF_USE_OUTPUT);
	w->f.opts.replicas = 3;
	if (fixture_ready(&w->f) < 0)
		return false;
	w->device = malloc(w->f.layout.size);
	memcpy(w->device, w->f.arena, w->f.layout.size);
	w->f.env.arena = (uintptr_t)w->device;
	w->mirror = (struct gpubpf_mirror){ w->f.arena, w->f.layout.size, w, pull, push, zero, wait, never,
					   .run = run_twice, .at_once = seed % 5000 };
	return true;
}

static void end(struct world *w)
{
	gpubpf_host_thread_set(NULL);
	free(w->device);
	fixture_end(&w->f);
}

static uint32_t count(const uint8_t *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < RECORDS; i++)
		n += of[i];
	return n;
}

static bool whole(const struct world *w)
{
	const struct gpubpf_map_layout *l = &w->f.layout.maps[0];
	bool all = true;

	for (uint32_t i = 0; i < l->copies; i++)
		all &= ((const struct gpubpf_ring_copy *)((char *)w->f.arena + GPUBPF_RING_COPY(l->ctl, i)))->whole;
	return all;
}

static bool any_running(const struct world *w)
{
	for (uint32_t i = 0; i < WARPS; i++)
		if (w->warps[i].running)
			return true;
	return false;
}

/* Drain all records. Kernels and the reader run during a drain (busy), or only between two drains. */
static void run_busy(struct world *w, const char *name)
{
	uint32_t rounds = 0;
	u64 left = 1;
	s64 n = 0;

	while (n >= 0 && rounds < 1000000 && (!w->resting || any_running(w) || left || n)) {
		w->resting = w->next + 32 > RECORDS;
		for (uint32_t i = pick(w, 600); i; i--)
			device_step(w);
		n = gpubpf_mirror_drain(&w->mirror, &left);
		look(w);
		rounds++;
	}
	while (look(w) > 0)
		;
	ok(n >= 0 && !left && !w->bad, "%s: %u bad of %u records, in %u rounds", name, w->bad, w->next, rounds);
}

static void test_busy(const char *name, uint64_t seed, bool batches, bool slow, uint32_t bytes, uint32_t calm)
{
	static struct world w;

	if (!ok(begin(&w, seed, batches, bytes), "%s: layout", name))
		return;
	w.slow = slow;
	w.calm = calm;
	run_busy(&w, name);
	ok(count(w.seen) == w.next && gpubpf_map_drops(&w.f.view[0]) == w.dropped && w.dropped < w.next,
	   "%s: each came out once or was counted as dropped (%u)", name, w.dropped);
	end(&w);
}

/* A reader that only counts records relies on the agent's check and does not read their words. */
static void test_counted(const char *name, uint64_t seed, bool slow)
{
	static struct world w;

	if (!ok(begin(&w, seed, true, 1 << 13), "%s: layout", name))
		return;
	w.slow = slow;
	w.calm = 60;
	w.counts = true;
	run_busy(&w, name);
	ok(w.counted + w.dropped == w.next && gpubpf_map_drops(&w.f.view[0]) == w.dropped && whole(&w),
	   "%s: %u counted and %u dropped of %u", name, w.counted, w.dropped, w.next);
	end(&w);
}

/*
 * Repeat a launch whose records fit into the ring buffer, with a slow reader. The mirror holds as many records again,
 * so no record is dropped.
 */
static void test_holds(uint64_t seed)
{
	static struct world w;
	uint32_t launches = 0, most;
	u64 left;

	if (!ok(begin(&w, seed, true, 1 << 16), "a ring that holds a launch: layout"))
		return;
	w.busy = false;
	w.slow = true;
	most = (uint32_t)w.f.layout.maps[0].stride / 4 * 3 / 24 * w.f.layout.maps[0].copies / 2;
	while (w.next + most < RECORDS) {
		uint32_t until = w.next + most;

		w.resting = false;
		while (w.next < until || any_running(&w)) {
			w.resting = w.next >= until;
			device_step(&w);
		}
		gpubpf_mirror_drain(&w.mirror, &left);
		if (launches++ % 2)
			while (look(&w) > 0)
				;
	}
	while (look(&w) > 0)
		;
	ok(launches > 3 && !w.dropped && !w.bad && count(w.seen) == w.next,
	   "a ring that holds a launch: %u records of %u launches, %u dropped", count(w.seen), launches, w.dropped);
	end(&w);
}

/* Kill the agent between any two words. The records must then be recoverable from the device's memory alone. */
static void test_killed(uint64_t seed)
{
	static struct world w;
	uint32_t kills = 0, lost = 0, bad = 0, i, k;
	u64 left;
	s64 n;

	for (i = 0; i < 150; i++) {
		if (!begin(&w, seed + 2 * i, i % 3, 1 << 13))
			return;
		w.calm = 20;
		w.counts = i % 4 == 1;
		w.budget = 2000 + pick(&w, 15000);
		for (n = 0; n >= 0;) {
			for (k = pick(&w, 600); k; k--)
				device_step(&w);
			n = gpubpf_mirror_drain(&w.mirror, &left);
			w.resting = w.next + 64 > RECORDS;
			if (w.resting)
				break;
		}
		kills += n < 0;
		w.busy = false;
		w.nasked = 0;
		w.budget = UINT64_MAX;
		w.mirror.push = nothing;
		w.mirror.zero = no_zero;
		w.mirror.have_kernels_ended = always;
		while (look(&w) > 0)
			;
		bad += gpubpf_mirror_drain(&w.mirror, &left) < 0 || left;
		while ((n = gpubpf_ring_drain(&w.f.view[0], w.counts ? NULL : see, &w)) > 0)
			w.counted += n;
		lost += w.counts && w.counted != count(w.finished);
		for (k = 0; k < RECORDS; k++)
			lost += !w.counts && w.finished[k] && !w.seen[k];
		bad += w.bad;
		end(&w);
	}
	ok(kills > 100 && !lost && !bad, "killed %u times: %u records of finished warps lost, %u bad", kills, lost,
	   bad);
}

static void test_threads(void)
{
	static const u32 wanted[][4] = { /* parts, processors, requested threads, expected threads */
		{ 2, 16, 0, 1 }, { 5, 16, 0, 2 }, { 10, 16, 0, 5 }, { 17, 16, 0, 8 }, { 300, 128, 0, 8 }, { 300, 8, 0, 4 }, { 300, 2, 0, 1 },
		{ 300, 1, 0, 1 }, { 300, 2, 4, 4 }, { 300, 128, 4, 4 }, { 5, 16, 4, 2 }, { 300, 16, 12, 12 },
	};

	for (u32 i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		u64 n = gpubpf_mirror_threads(wanted[i][0], wanted[i][1], wanted[i][2]);

		ok(n == wanted[i][3], "%u parts, %u processors, %u asked for: %llu threads", wanted[i][0], wanted[i][1], wanted[i][2],
		   (unsigned long long)n);
	}
}

int main(void)
{
	uint64_t seed = random_seed();

	test_busy("batches", seed, true, false, 1 << 13, 60);
	test_busy("batches, a slow reader", seed + 2, true, true, 1 << 13, 60);
	test_busy("batches, a small ring", seed + 4, true, false, 1 << 11, 0);
	test_busy("single records", seed + 6, false, false, 1 << 12, 60);
	test_busy("single records, a slow reader", seed + 8, false, true, 1 << 12, 20);
	test_counted("counted", seed + 14, false);
	test_counted("counted by a slow reader", seed + 16, true);
	test_holds(seed + 10);
	test_killed(seed + 12);
	test_threads();
	return done();
}
