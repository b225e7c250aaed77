/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests LAUNCHES maps: rows of launches whose blocks many threads run in any order, full maps, and what the host refuses
 * to write.
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

static int64_t mark(struct fixture *f, uint32_t block, uint64_t launch, uint64_t kernel, uint64_t ended)
{
	struct gpubpf_host_thread at = {
		.grid_dim = { BLOCKS, 1, 1 }, .block_dim = { 1, 1, 1 }, .block_idx = { block }, .dims = 1, .sm = block % COPIES
	};
	struct gpubpf_env env = { .arena = (uintptr_t)f->arena, .flags = GPUBPF_ENV_CLOCK };
	int64_t ret;

	gpubpf_host_thread_set(&at);
	ret = gpubpf_launches_mark(&env, GPUBPF_LAYOUT_PASS(f->view[0].layout), launch, kernel,
				   GPUBPF_LAUNCH_ENDS * BLOCKS, ended);
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

static void test_one(void)
{
	struct gpubpf_launch_row row;
	struct fixture f;
	uint64_t from = now_ns(), between;

	begin(&f, 3);
	ok(read_row(&f, 0, &row) == -ENOENT && gpubpf_map_lookup(&f.view[0], &(uint32_t){ 3 }, &row) == -ENOENT,
	   "an empty map");
	for (uint32_t b = 0; b < BLOCKS; b++)
		mark(&f, b, 41, origin_of(5), 0);
	between = now_ns();
	for (uint32_t b = 0; b < BLOCKS - 1; b++)
		mark(&f, b, 41, origin_of(5), GPUBPF_LAUNCH_ENDS);
	mark(&f, BLOCKS - 1, 41, origin_of(5), 1);
	ok(!read_row(&f, 0, &row) && row.kernel == 2 && row.launch == 41 && row.pid == 8 && row.blocks == BLOCKS,
	   "a row's launch");
	ok(row.ended == BLOCKS - 1 && !row.time,
	   "a launch with a block that has not ended has no time: %llu of %llu ended", (unsigned long long)row.ended,
	   (unsigned long long)row.blocks);
	mark(&f, BLOCKS - 1, 41, origin_of(5), 1);
	ok(!read_row(&f, 0, &row) && row.ended == BLOCKS && row.begin >= from && row.begin <= between && row.time &&
		   row.begin + row.time >= between && row.begin + row.time <= now_ns(),
	   "from the first begin to the last end");
	ok(!row.sms, "the number of multiprocessors is not known on a host");
	fixture_end(&f);
}

static void test_shared(void)
{
	struct gpubpf_launch_row row;
	struct fixture f;

	begin(&f, 2);
	for (uint32_t launch = 0; launch < 3; launch++)
		for (uint32_t b = 0; b < BLOCKS; b++)
			mark(&f, b, 4, 1, 0), mark(&f, b, 4, 1, GPUBPF_LAUNCH_ENDS);
	ok(!read_row(&f, 0, &row) && row.ended == 3 * BLOCKS && !row.time, "launches that share a row have no time");
	ok(gpubpf_map_drops(&f.view[0]) == 2, "all but one of them are counted as drops");
	fixture_end(&f);
}

/* The values that a device with numbers of multiprocessors stores. */
static void test_multiprocessors(void)
{
	struct gpubpf_launch_row row;
	struct fixture f;
	u64 values;

	begin(&f, 1);
	for (uint32_t b = 0; b < BLOCKS; b++)
		mark(&f, b, 0, 0, 0);
	values = (uintptr_t)f.arena + f.view[0].layout->data + f.view[0].layout->copy_stride +
		 (gpubpf_load_u64((uintptr_t)f.arena + f.view[0].layout->ctl + GPUBPF_LAUNCHES_ROWS) - 1) *
			 GPUBPF_LAUNCHES_STRIDE;
	for (uint32_t c = 0; c < 4; c++)
		gpubpf_store_u64(values + c * f.view[0].layout->copy_stride + GPUBPF_LAUNCHES_SM, 1 + c % 3);
	read_row(&f, 0, &row);
	ok(row.sms == 3, "each multiprocessor counts once: %llu", (unsigned long long)row.sms);
	fixture_end(&f);
}

struct runner {
	struct fixture *f;
	atomic_uint next; /* launch * BLOCKS + block */
	atomic_uint lost;
};

/* Runs blocks; the blocks of a launch run in several threads, and launches overlap. */
static void *run_blocks(void *arg)
{
	struct runner *r = arg;
	uint32_t n;

	while ((n = r->next++) < LAUNCHES * BLOCKS) {
		uint32_t launch = n / BLOCKS / 4 * 4 + n % 4, block = n / 4 % BLOCKS; /* four launches overlap */

		r->lost += !!mark(r->f, block, launch, origin_of(launch), 0);
		r->lost += !!mark(r->f, block, launch, origin_of(launch), 1);
		r->lost += !!mark(r->f, block, launch, origin_of(launch), 1);
	}
	return NULL;
}

static uint32_t run(struct fixture *f)
{
	struct runner r = { .f = f };
	pthread_t thread[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_blocks, &r);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return r.lost;
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
	struct fixture f;
	uint32_t lost, n;

	begin(&f, LAUNCHES);
	lost = run(&f);
	n = count_rows(&f);
	ok(!lost && n == LAUNCHES && !gpubpf_map_drops(&f.view[0]), "overlapping launches have exact rows: %u of %u", n,
	   LAUNCHES);
	fixture_end(&f);
}

static void test_full(void)
{
	struct fixture f;
	uint64_t drops;
	uint32_t lost, n;

	begin(&f, 20);
	lost = run(&f);
	n = count_rows(&f);
	drops = gpubpf_map_drops(&f.view[0]);
	ok(n == 20, "a full map has exact rows: %u of 20", n);
	ok(lost && drops == LAUNCHES - 20, "each launch without a row is counted once: %llu of %u",
	   (unsigned long long)drops, LAUNCHES - 20);
	fixture_end(&f);
}

static void test_refused(void)
{
	struct gpubpf_launch_row row = { 0 };
	struct gpubpf_diag diag;
	struct fixture f;
	uint32_t key = 0, next;

	begin(&f, 4);
	mark(&f, 0, 1, 1, 0);
	mark(&f, 0, 2, 1, 0);
	ok(gpubpf_map_update(&f.view[0], &key, &row, 0) == -EINVAL && gpubpf_map_delete(&f.view[0], &key) == -EINVAL,
	   "the host writes no rows");
	ok(!gpubpf_map_next_key(&f.view[0], NULL, &next) && next == 0 && !gpubpf_map_next_key(&f.view[0], &next, &key) &&
		   key == 1 && gpubpf_map_next_key(&f.view[0], &key, &next) == -ENOENT,
	   "keys are in the order of begins");
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
	test_shared();
	test_multiprocessors();
	test_overlap();
	test_full();
	test_refused();
	return done();
}
