/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests LAUNCHES maps: rows of launches whose blocks many threads run in any order, replays, full maps, and what the host
 * refuses to write.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "gpubpf/launch.h"
#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define TYPE 1601
#define THREADS 4
#define LAUNCHES 200
#define BLOCKS 12
#define COPIES 5

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void begin(struct fixture *f, uint32_t rows)
{
	fixture_begin(f);
	fixture_map(f, TYPE, 4, sizeof(struct gpubpf_launch_row), rows, GPUBPF_USE_UPDATE);
	f->opts.replicas = COPIES;
	if (fixture_ready(f) < 0)
		abort();
}

/* A launch: its number, its kernel and process, and its blocks. */
struct launch {
	uint64_t number, origin;
	uint32_t blocks;
};

static int64_t mark(struct fixture *f, const struct launch *l, uint32_t block, uint64_t ended)
{
	struct gpubpf_host_thread at = { .grid_dim = { l->blocks, 1, 1 },
					 .block_dim = { 1, 1, 1 },
					 .block_idx = { block },
					 .dims = 1,
					 .sm = block % COPIES };
	struct gpubpf_env env = {
		.arena = (uintptr_t)f->arena, .flags = GPUBPF_ENV_CLOCK, .launch = l->number, .pid_tgid = l->origin
	};
	int64_t ret;

	gpubpf_host_thread_set(&at);
	ret = gpubpf_launches_mark(&env, GPUBPF_LAYOUT_PASS(f->view[0].layout), l->number, l->origin,
				   GPUBPF_LAUNCH_ENDS, ended);
	gpubpf_host_thread_set(NULL);
	return ret;
}

static int read_row(struct fixture *f, uint32_t i, struct gpubpf_launch_row *row)
{
	memset(row, 0x55, sizeof(*row));
	return gpubpf_map_lookup(&f->view[0], &i, row);
}

static uint64_t origin_of(uint64_t n)
{
	return n % 3 | (7 + n % 2) << 32;
}

/* Marks all blocks of a launch. Returns what the last mark returns. */
static int64_t run_launch(struct fixture *f, const struct launch *l)
{
	for (uint32_t b = 0; b < l->blocks; b++)
		mark(f, l, b, 0);
	for (uint32_t b = 1; b < l->blocks; b++)
		mark(f, l, b, GPUBPF_LAUNCH_ENDS);
	return mark(f, l, 0, GPUBPF_LAUNCH_ENDS);
}

/* Returns true if no slot is in use, and all counters of ends are 0. */
static bool are_slots_free(struct fixture *f)
{
	const struct gpubpf_map_layout *l = f->view[0].layout;
	const uint64_t *word = (const uint64_t *)((char *)f->view[0].arena + l->data);

	for (uint64_t i = 0; i < (l->ctl + l->size - l->data) / 8; i++)
		if (word[i])
			return false;
	return true;
}

static void test_one(void)
{
	struct launch l = { 41, origin_of(5), BLOCKS };
	struct gpubpf_launch_row row;
	uint64_t from = now_ns(), between;
	int64_t time;
	struct fixture f;

	begin(&f, 3);
	ok(read_row(&f, 0, &row) == -ENOENT && gpubpf_map_lookup(&f.view[0], &(uint32_t){ 3 }, &row) == -ENOENT,
	   "an empty map");
	for (uint32_t b = 0; b < BLOCKS; b++)
		mark(&f, &l, b, 0);
	between = now_ns();
	for (uint32_t b = 0; b < BLOCKS - 1; b++)
		mark(&f, &l, b, GPUBPF_LAUNCH_ENDS);
	ok(mark(&f, &l, BLOCKS - 1, 1) == 0 && read_row(&f, 0, &row) == -ENOENT,
	   "a launch with a block that has not ended has no row");
	time = mark(&f, &l, BLOCKS - 1, 1);
	ok(!read_row(&f, 0, &row) && row.kernel == 2 && row.launch == 41 && row.pid == 8 && row.blocks == BLOCKS &&
		   row.ended == BLOCKS,
	   "a row's launch");
	ok(time > 0 && row.time == (uint64_t)time && row.begin >= from && row.begin <= between &&
		   row.begin + row.time >= between && row.begin + row.time <= now_ns(),
	   "from the first begin to the last end, which the last thread gets");
	ok(!row.sms && are_slots_free(&f), "the host has no multiprocessors, and the slot is free");
	fixture_end(&f);
}

/* The blocks of a launch may end before a block of the launch begins. */
static void test_early_end(void)
{
	struct launch l = { 1, 2, 2 };
	struct gpubpf_launch_row row;
	struct fixture f;
	uint64_t from;

	begin(&f, 1);
	mark(&f, &l, 0, 1);
	from = now_ns();
	mark(&f, &l, 0, 0);
	mark(&f, &l, 0, 1);
	mark(&f, &l, 1, 0);
	mark(&f, &l, 1, 2);
	ok(!read_row(&f, 0, &row) && row.begin >= from && are_slots_free(&f), "a thread ends before the first begins");
	fixture_end(&f);
}

/* Each replay of a graph node has the same number. */
static void test_replays(void)
{
	struct launch l = { 4, 1, 3 };
	struct gpubpf_launch_row row;
	struct fixture f;
	uint64_t end = 0;
	uint32_t n = 0;

	begin(&f, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		l.blocks = 1 + i % 40;
		run_launch(&f, &l);
	}
	for (uint32_t i = 0; i < 1000 && !read_row(&f, i, &row); i++, n++) {
		if (row.blocks != 1 + i % 40 || row.begin < end)
			break;
		end = row.begin + row.time;
	}
	ok(n == 1000 && are_slots_free(&f) && !gpubpf_map_drops(&f.view[0]),
	   "each of 1000 replays has its own row, with a number of blocks that changes: %u", n);
	fixture_end(&f);
}

static void test_newest(void)
{
	uint64_t cursor = 0, launches = 0;
	struct gpubpf_launch_row row;
	struct fixture f;
	uint32_t key, n = 0;
	bool good = true;

	begin(&f, 5);
	for (uint32_t i = 0; i < 1003; i++)
		run_launch(&f, &(struct launch){ i, 9, 2 });
	for (; !gpubpf_map_iterate(&f.view[0], &cursor, &key, &row); n++) {
		good &= key == row.launch && key == 998 + n;
		launches += row.launch;
	}
	ok(good && n == 5, "a small map has the newest rows of any number of launches: %u", n);
	ok(read_row(&f, 997, &row) == -ENOENT && read_row(&f, 1003, &row) == -ENOENT && !read_row(&f, 998, &row),
	   "keys are numbers of rows");
	fixture_end(&f);
}

struct runner {
	struct fixture *f;
	atomic_uint next; /* launch * BLOCKS + block */
	atomic_uint lost, ends;
	uint32_t launches;
};

/* Runs blocks; the blocks of a launch run in several threads, and launches overlap. */
static void *run_blocks(void *arg)
{
	struct runner *r = arg;
	uint32_t n;

	while ((n = r->next++) < r->launches * BLOCKS) {
		uint32_t number = n / BLOCKS / 4 * 4 + n % 4, block = n / 4 % BLOCKS; /* four launches overlap */
		struct launch l = { number, origin_of(number), BLOCKS };

		r->lost += mark(r->f, &l, block, 0) < 0;
		r->ends += mark(r->f, &l, block, 1) > 0;
		r->ends += mark(r->f, &l, block, 1) > 0;
	}
	return NULL;
}

static struct runner run(struct fixture *f, uint32_t launches)
{
	struct runner r = { .f = f, .launches = launches };
	pthread_t thread[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_blocks, &r);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return r;
}

/* Returns the number of rows, or 0 if a row is wrong or repeated. */
static uint32_t count_rows(struct fixture *f)
{
	bool seen[LAUNCHES] = { false };
	struct gpubpf_launch_row row;
	uint64_t cursor = 0;
	uint32_t key, n = 0;

	while (!gpubpf_map_iterate(&f->view[0], &cursor, &key, &row)) {
		if (row.launch >= LAUNCHES || seen[row.launch] || row.kernel != row.launch % 3 ||
		    row.pid != 7 + row.launch % 2 || row.blocks != BLOCKS || row.ended != BLOCKS)
			return 0;
		seen[row.launch] = true;
		n++;
	}
	return n;
}

static void test_overlap(void)
{
	struct runner r;
	struct fixture f;
	uint32_t n;

	begin(&f, LAUNCHES);
	r = run(&f, LAUNCHES);
	n = count_rows(&f);
	ok(!r.lost && n == LAUNCHES && r.ends == LAUNCHES && !gpubpf_map_drops(&f.view[0]) && are_slots_free(&f),
	   "overlapping launches have exact rows: %u of %u", n, LAUNCHES);
	fixture_end(&f);
	begin(&f, 8);
	r = run(&f, 4000);
	ok(!r.lost && r.ends == 4000 && are_slots_free(&f), "4000 launches in a map of 8 rows: %u", r.ends);
	fixture_end(&f);
}

/*
 * Launches with the same home, whose slots become free in another order than they were claimed. A block that comes later
 * finds its launch although an earlier slot is free.
 */
static void test_home(void)
{
	struct launch l[64];
	uint32_t n = 0, rows;
	struct fixture f;

	begin(&f, 64);
	for (uint64_t i = 0; n < 6; i++) {
		struct gpubpf_env env = { .launch = i };
		struct gpubpf_launches_id id = { .blocks = 2 };

		gpubpf_launches_identify(&env, &id);
		if (id.home % GPUBPF_LAUNCHES_SLOTS == 250) /* the slots wrap around */
			l[n++] = (struct launch){ i, 0, 2 };
	}
	for (uint32_t i = 0; i < n; i++)
		mark(&f, &l[i], 0, 0), mark(&f, &l[i], 0, 2);
	for (uint32_t i = 0; i < n; i++) /* launch 0 frees the first slot, and launch 1 has a hold on it */
		mark(&f, &l[i], 1, 0), mark(&f, &l[i], 1, 2);
	for (rows = 0; rows < 64 && !read_row(&f, rows, &(struct gpubpf_launch_row){ 0 }); rows++)
		;
	ok(rows == n && are_slots_free(&f), "launches with the same home: %u rows", rows);
	fixture_end(&f);
}

static void test_full(void)
{
	uint32_t lost = 0, n = GPUBPF_LAUNCHES_SLOTS + 100;
	struct fixture f;

	begin(&f, 20);
	for (uint32_t i = 0; i < n; i++) {
		struct launch l = { i, 1, 3 };

		lost += mark(&f, &l, 0, 0) == -GPUBPF_E2BIG;
		if (mark(&f, &l, 1, 0) == -GPUBPF_E2BIG)
			mark(&f, &l, 2, 0);
	}
	ok(lost >= 100 && gpubpf_map_drops(&f.view[0]) == lost, "each launch without a slot is counted once: %u of %u",
	   lost, n);
	fixture_end(&f);
}

/* A reader in another process may see a row while the device writes it. */
static void test_torn(void)
{
	struct gpubpf_launch_row row;
	struct fixture f;
	uint64_t *time;

	begin(&f, 2);
	run_launch(&f, &(struct launch){ 0, 1, 1 });
	time = (uint64_t *)((char *)f.view[0].arena + f.view[0].layout->ctl + GPUBPF_LAUNCHES_ROWS + 24);
	*time += 1;
	ok(read_row(&f, 0, &row) == -ENOENT, "a row with an old word is not read");
	*time -= 1;
	ok(!read_row(&f, 0, &row), "a whole row is read");
	fixture_end(&f);
}

static void test_refused(void)
{
	struct gpubpf_launch_row row = { 0 };
	struct gpubpf_diag diag;
	struct fixture f;
	uint32_t key = 0, next;

	begin(&f, 4);
	run_launch(&f, &(struct launch){ 1, 1, 1 });
	run_launch(&f, &(struct launch){ 2, 1, 1 });
	ok(gpubpf_map_update(&f.view[0], &key, &row, 0) == -EINVAL && gpubpf_map_delete(&f.view[0], &key) == -EINVAL,
	   "the host writes no rows");
	ok(!gpubpf_map_next_key(&f.view[0], NULL, &next) && next == 0 && !gpubpf_map_next_key(&f.view[0], &next, &key) &&
		   key == 1 && gpubpf_map_next_key(&f.view[0], &key, &next) == -ENOENT,
	   "keys are in the order of ends");
	fixture_end(&f);
	fixture_begin(&f);
	fixture_map(&f, TYPE, 4, 56, 4, 0);
	gpubpf_diag_init(&diag);
	ok(gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) < 0 && strstr(diag.what, "value_size is 56"),
	   "other values are refused: %s", diag.what);
	gpubpf_layout_finish(&f.layout);
	f.maps[0].value_size = sizeof(struct gpubpf_launch_row);
	f.maps[0].max_entries = (1u << 20) + 1;
	gpubpf_diag_init(&diag);
	ok(gpubpf_layout_compute(&f.unit, &f.opts, &f.layout, &diag) < 0 && strstr(diag.what, "max_entries is 1048577"),
	   "more rows are refused: %s", diag.what);
	gpubpf_layout_finish(&f.layout);
}

int main(void)
{
	test_one();
	test_early_end();
	test_replays();
	test_newest();
	test_overlap();
	test_home();
	test_full();
	test_torn();
	test_refused();
	return done();
}
