/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects loaders whose bpf(2) calls do not go through libc, so that a preloaded library cannot intercept them. The
 * supervisor, gpubpf-supervise, runs such loaders and intercepts the calls.
 */
#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/reach.h"
#include "core/worker/installed.h"

char **cli_supervised(const struct cli_args *args)
{
	static char file[PATH_MAX], supervisor[PATH_MAX];
	size_t n = 0;
	char **argv;

	if (!gpubpf_reach_find(args->rest[0], cli_env_path(), file) ||
	    (!cli_has(args, OPT_SUPERVISE) && gpubpf_reach(file) == GPUBPF_REACHED))
		return args->rest;
	if (gpubpf_worker_find("gpubpf-supervise", supervisor, sizeof(supervisor)) < 0) {
		cli_error("%s: the supervisor of eBPF loaders is missing, so %s loads its programs into the Linux "
			  "kernel; build or install gpubpf completely",
			  supervisor, args->rest[0]);
		return args->rest;
	}
	while (args->rest[n])
		n++;
	argv = calloc(n + 3, sizeof(*argv));
	if (!argv)
		return args->rest;
	argv[0] = supervisor;
	argv[1] = file;
	memcpy(argv + 2, args->rest, n * sizeof(*argv));
	return argv;
}
