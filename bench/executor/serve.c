/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve OBJECT BACKEND BLOCKS [PROGRAM...]: measures executors (gpubpf_executor__new()) and direct runs.
 *
 * bench/executor/serve.bpf.c has the programs. The first rows are a program that does nothing: the time of a run, and runs
 * per second with 32 requests at a time. The other rows are batches of 4 KiB to 4 MiB. An executor splits a batch into a
 * request per block. A direct run is one launch of one block. Its data is on the device, and an executor's data is in
 * host memory.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpubpf/gpubpf.h>

#define THREADS 128
#define RUNS 20000
#define IN_FLIGHT 32
#define BATCHES 200
#define MOST (4u << 20)
#define RECORD 64
#define WAIT_MS 60000

static uint32_t blocks;
static const char *backend;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void fail(const struct gpubpf_session *s, const char *what)
{
	fprintf(stderr, "serve: %s: %s\n", what,
		s && gpubpf_session__error(s)[0] ? gpubpf_session__error(s) : strerror(errno));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static struct gpubpf_executor *start(const struct gpubpf_prog *prog, struct gpubpf_session *s, uint32_t threads,
				     const void *data, size_t size)
{
	struct gpubpf_executor_opts opts = {
		.sz = sizeof(opts), .data_in = data, .data_size = size, .blocks = blocks, .threads = threads, .backend = backend
	};
	struct gpubpf_executor *e;

	if (gpubpf_executor__new(prog, &opts, &e) < 0)
		fail(s, gpubpf_prog__name(prog));
	return e;
}

static void check(const struct gpubpf_session *s, int err, const char *what)
{
	if (err >= 0)
		return;
	errno = -err;
	fail(s, what);
}

/* Prints the median time of one run, from the request to its answer. */
static void measure_latency(struct gpubpf_executor *e, struct gpubpf_session *s)
{
	static double times[RUNS];
	uint64_t request;

	for (int i = 0; i < RUNS; i++) {
		double begin = now_us();

		check(s, gpubpf_executor__submit(e, 0, 8, &request), "submit");
		check(s, gpubpf_executor__wait(e, request, WAIT_MS, NULL), "wait");
		times[i] = now_us() - begin;
	}
	qsort(times, RUNS, sizeof(times[0]), compare);
	printf("run\texecutor\tmedian %.3f us\tshortest %.3f us\t99 %% %.3f us\n", times[RUNS / 2], times[0],
	       times[RUNS / 100 * 99]);
}

static void measure_rate(struct gpubpf_executor *e, struct gpubpf_session *s)
{
	uint64_t requests[IN_FLIGHT], n = 0, total = 50ull * RUNS;
	double begin = now_us();

	for (; n < total; n++) {
		if (n >= IN_FLIGHT)
			check(s, gpubpf_executor__wait(e, requests[n % IN_FLIGHT], WAIT_MS, NULL), "wait");
		check(s, gpubpf_executor__submit(e, 0, 8, &requests[n % IN_FLIGHT]), "submit");
	}
	for (uint64_t i = 0; i < IN_FLIGHT; i++)
		check(s, gpubpf_executor__wait(e, requests[i], WAIT_MS, NULL), "wait");
	printf("run\texecutor, %d at a time\t%.0f runs/s\n", IN_FLIGHT, 1e6 * (double)total / (now_us() - begin));
	fflush(stdout);
}

/* Returns the time in us of a launch of the program with this data, until the runner sees its end. */
static double measure_launch(const struct gpubpf_prog *prog, struct gpubpf_session *s, uint32_t grid, uint32_t threads,
			     const void *data, size_t size, uint32_t repeat)
{
	struct gpubpf_test_run_opts opts = { .sz = sizeof(opts),
					     .data_in = data,
					     .data_size_in = size,
					     .grid = { grid, 1, 1 },
					     .block = { threads, 1, 1 },
					     .repeat = repeat,
					     .backend = backend };

	check(s, gpubpf_prog__test_run(prog, &opts), gpubpf_prog__name(prog));
	return (double)opts.duration / 1e3;
}

/* Runs the batch as one request per block. Each request has at least 4 KiB. */
static void run_batch(struct gpubpf_executor *e, struct gpubpf_session *s, size_t size)
{
	static uint64_t requests[1024];
	size_t part = (size / blocks + 4095) / 4096 * 4096, n = 0;

	for (size_t at = 0; at < size; at += part)
		check(s, gpubpf_executor__submit(e, at, size - at < part ? size - at : part, &requests[n++]), "submit");
	for (size_t i = 0; i < n; i++)
		check(s, gpubpf_executor__wait(e, requests[i], WAIT_MS, NULL), "wait");
}

static void measure_batches(const struct gpubpf_prog *prog, struct gpubpf_session *s, const uint64_t *data)
{
	double served[6], launched[6];
	struct gpubpf_executor *e = start(prog, s, THREADS, data, MOST);

	for (int i = 0; i < 6; i++) {
		double begin = now_us();

		for (int n = 0; n < BATCHES; n++)
			run_batch(e, s, 4096u << 2 * i);
		served[i] = (now_us() - begin) / BATCHES;
	}
	check(s, gpubpf_executor__free(e), "free");
	for (int i = 0; i < 6; i++)
		launched[i] = measure_launch(prog, s, 1, THREADS, data, 4096u << 2 * i, BATCHES / 10);
	for (int i = 0; i < 6; i++)
		printf("%s\t%u\texecutor %.1f us, %.2f GB/s\tlaunch of one block %.1f us\n", gpubpf_prog__name(prog),
		       4096u << 2 * i, served[i], (4096u << 2 * i) / served[i] / 1e3, launched[i]);
	fflush(stdout);
}

static void fill_routes(struct gpubpf_session *s)
{
	struct gpubpf_map *routes = gpubpf_session__find_map_by_name(s, "routes");

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t key[2] = { 8, i };
		uint64_t value = i + 1;

		check(s, gpubpf_map__update_elem(routes, key, sizeof(key), &value, sizeof(value), 0), "routes");
	}
}

static struct gpubpf_session *open_session(const char *object)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .no_attach = true };
	struct gpubpf_session *s = gpubpf_session__new(&opts);

	if (!s || gpubpf_session__add_object(s, object) < 0 || gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
		fail(s, object);
	return s;
}

static bool is_wanted(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return !n && strcmp(name, "nothing") && strcmp(name, "first");
}

int main(int argc, char **argv)
{
	const struct gpubpf_prog *prog = NULL;
	struct gpubpf_executor *e;
	struct gpubpf_session *s;
	uint64_t *data = malloc(MOST);

	if (argc < 4 || !data)
		return fprintf(stderr, "serve OBJECT BACKEND BLOCKS [PROGRAM...]\n"), 2;
	backend = argv[2];
	blocks = (uint32_t)atoi(argv[3]);
	for (uint32_t i = 0; i < MOST / 8; i++)
		data[i] = i * 0x9e3779b97f4a7c15ull >> 7;
	s = open_session(argv[1]);
	fill_routes(s);
	while ((prog = gpubpf_session__next_program(s, prog)) && strcmp(gpubpf_prog__name(prog), "nothing"))
		;
	e = start(prog, s, 32, data, 4096);
	measure_latency(e, s);
	measure_rate(e, s);
	check(s, gpubpf_executor__free(e), "free");
	printf("run\tlaunch and synchronize\t%.3f us\n", measure_launch(prog, s, 1, 32, data, 4096, 2000));
	for (prog = NULL; (prog = gpubpf_session__next_program(s, prog));)
		if (is_wanted(gpubpf_prog__name(prog), argv + 4, argc - 4))
			measure_batches(prog, s, data);
	gpubpf_session__stop(s);
	gpubpf_session__free(s);
	free(data);
	return 0;
}
