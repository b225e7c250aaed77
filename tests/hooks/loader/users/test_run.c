/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-run OBJECT PROGRAM ROOM [attach]: a libbpf loader that knows nothing of gpubpf. It runs the program by
 * BPF_PROG_TEST_RUN on 64 words of data, twice, in 2 blocks of 32 threads, and receives ROOM bytes of the data. Prints
 * the results. With `attach` it attaches the program first, as bpftime's loaders do.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/run.h"

#define WORDS 64

static uint64_t data[WORDS], out[WORDS];

static void print_run(int err, const struct bpf_test_run_opts *opts)
{
	uint64_t sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum += out[i];
	printf("%s: retval %u, %u bytes, sum %llu, %s\n", err ? strerror(-err) : "ran", opts->retval,
	       opts->data_size_out, (unsigned long long)sum, opts->duration ? "timed" : "no time");
}

/* Runs the program with arguments that the session refuses. */
static void run_invalid(int prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, flags, .flags = 1);
	LIBBPF_OPTS(bpf_test_run_opts, cpu, .cpu = 1);
	LIBBPF_OPTS(bpf_test_run_opts, ctx, .ctx_in = data, .ctx_size_in = 5);
	struct bpf_test_run_opts *all[] = { &flags, &cpu, &ctx };

	for (int i = 0; i < 3; i++)
		printf("invalid: %s\n", strerror(-bpf_prog_test_run_opts(prog, all[i])));
}

int main(int argc, char **argv)
{
	struct gpubpf_run_grid grid = { { 2, 1, 1 }, { 32, 1, 1 } };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data), .data_out = out,
		    .ctx_in = &grid, .ctx_size_in = sizeof(grid), .repeat = 2);
	struct bpf_object *obj = argc > 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *prog;
	int fd, err;

	if (!obj || bpf_object__load(obj) || !(prog = bpf_object__find_program_by_name(obj, argv[2]))) {
		printf("not loaded: %s\n", strerror(errno));
		return 1;
	}
	for (int i = 0; i < WORDS; i++)
		data[i] = i;
	opts.data_size_out = atoi(argv[3]);
	fd = bpf_program__fd(prog);
	if (argc > 4)
		printf("%s\n", bpf_program__attach(prog) ? "attached" : strerror(errno));
	err = bpf_prog_test_run_opts(fd, &opts);
	print_run(err, &opts);
	run_invalid(fd);
	bpf_object__close(obj);
	return 0;
}
