/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_call OBJECT BACKEND [THREADS BLOCKS]...: measures host calls of bench/host_call.bpf.c, in direct runs. The first row
 * is one thread, the second one block of 32 threads (a warp). Each pair THREADS BLOCKS adds a row. A row has the time of
 * a call, as the difference between runs with 90 calls per thread and with none, and the calls per second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpubpf/gpubpf.h>

#define CALLS 90
#define REPEAT 10

struct pair {
	uint64_t a, b;
};

static int64_t add(void *ctx, const struct gpubpf_host_call *call)
{
	const struct pair *in = call->in;
	struct pair *out = call->out;

	out->a = in->a + in->b;
	out->b = 0;
	return 0;
}

/* Returns the shortest time of a run in ns, or 0 after an error. */
static double run(struct gpubpf_session *s, const char *backend, uint32_t threads, uint32_t blocks, uint64_t calls)
{
	struct gpubpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = &calls,
		.data_size_in = sizeof(calls),
		.grid = { blocks, 1, 1 },
		.block = { threads, 1, 1 },
		.repeat = REPEAT,
		.backend = backend,
	};

	if (gpubpf_prog__test_run(gpubpf_session__next_program(s, NULL), &opts) < 0) {
		fprintf(stderr, "host_call: %s\n", gpubpf_session__error(s));
		return 0;
	}
	return (double)opts.duration_min;
}

static void print_row(struct gpubpf_session *s, const char *backend, uint32_t threads, uint32_t blocks)
{
	double none = run(s, backend, threads, blocks, 0), all = run(s, backend, threads, blocks, CALLS), ns = all - none;

	printf("%u\t%u\t%.3f us per call\t%.0f calls per second\n", blocks, threads, ns / CALLS / 1e3,
	       ns > 0 ? 1e9 * CALLS * threads * blocks / ns : 0.);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts) };
	struct gpubpf_session *s = gpubpf_session__new(&opts);
	uint64_t failed = 0;
	uint32_t zero = 0;

	if (argc < 3 || !s || gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__load(s) < 0 ||
	    gpubpf_map__register_host_call(gpubpf_session__find_map_by_name(s, "calls"), add, NULL) < 0)
		return fprintf(stderr, "host_call: %s\n", s ? gpubpf_session__error(s) : strerror(errno)), 1;
	if (gpubpf_session__start(s) < 0)
		return fprintf(stderr, "host_call: %s\n", gpubpf_session__error(s)), 1;
	printf("blocks\tthreads\n");
	print_row(s, argv[2], 1, 1);
	print_row(s, argv[2], 32, 1);
	for (int i = 3; i + 1 < argc; i += 2)
		print_row(s, argv[2], (uint32_t)atoi(argv[i]), (uint32_t)atoi(argv[i + 1]));
	gpubpf_session__stop(s);
	gpubpf_map__lookup_elem(gpubpf_session__find_map_by_name(s, "failed"), &zero, sizeof(zero), &failed,
				sizeof(failed), 0);
	printf("%llu calls failed\n", (unsigned long long)failed);
	gpubpf_session__free(s);
	return failed != 0;
}
