/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf conformance: runs the suite's cases on every device of this machine. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/conformance/suite/suite.h"
#include "core/device.h"
#include "core/worker/job.h"
#include "cli/devices.h"

#define HOST "host"

/* Append " by ROUTE" to the device's name if --route selects a route. */
static void name_device(struct suite_device *d, const struct gpubpf_target_info *route)
{
	size_t n = strlen(d->caps.name);

	if (route)
		snprintf(d->caps.name + n, sizeof(d->caps.name) - n, " by %s", route->name);
}

static int add_device(struct suite_run *run, const struct gpubpf_device_caps *caps, uint32_t index)
{
	struct suite_device *grown = realloc(run->devices, (run->ndevices + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	run->devices = grown;
	grown[run->ndevices] = (struct suite_device){ .caps = *caps, .index = index };
	name_device(&grown[run->ndevices], run->route);
	grown[run->ndevices].results = calloc(run->suite.ncases, sizeof(*grown->results));
	return grown[run->ndevices++].results ? 0 : -ENOMEM;
}

static void add_missing(struct suite_run *run, const char *backend, const char *why)
{
	struct suite_missing *m = &run->missing[run->nmissing];

	if (run->nmissing == sizeof(run->missing) / sizeof(run->missing[0]))
		return;
	run->nmissing++;
	snprintf(m->backend, sizeof(m->backend), "%s", backend);
	snprintf(m->why, sizeof(m->why), "%s", why);
}

static int add_backend(struct suite_run *run, const char *backend)
{
	struct cli_devices found;
	int err = 0;

	cli_devices_query(backend, run->device, &found);
	if (found.missing[0])
		add_missing(run, backend, found.missing);
	for (uint32_t i = 0; !err && i < found.n; i++)
		err = add_device(run, &found.caps[i], i);
	return err;
}

/* Add the devices that the options name. Without these options, add the interpreter and all devices of each runtime. */
static int find_devices(struct suite_run *run, const char *only)
{
	static const struct gpubpf_device_caps host = { .backend = HOST,
							.name = "interpreter",
							.driver = "gpubpf " GPUBPF_VERSION,
							.warp_size = 32,
							.max_threads_per_block = 1024 };
	bool alone = only && !strcmp(only, HOST);
	const char *name;
	bool named = !run->device || strstr(host.name, run->device);
	int err = named && (alone || (!only && !run->device && !run->route)) ? add_device(run, &host, 0) : 0;

	if (alone && !named)
		add_missing(run, HOST, "its device is called interpreter");
	for (size_t i = 0; !err && !alone && (name = gpubpf_backend_at(i)); i++)
		if (!only || !strcmp(only, name))
			err = add_backend(run, name);
	return err;
}

struct progress {
	const struct suite_run *run;
	const struct suite_device *device;
	size_t done;
};

/* Show the number of finished cases. On a terminal, one line is redrawn. */
static void show_progress(void *arg, size_t done)
{
	struct progress *progress = arg;

	progress->done = done;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%s, %s: %zu of %u cases", progress->device->caps.backend,
			progress->device->caps.name, done, progress->run->suite.ncases);
}

/*
 * Run all cases on each device. Cases that probe an application run in separate sessions; these sessions reuse the same
 * workers.
 */
static void run_devices(struct suite_run *run)
{
	gpubpf_workers_reuse(true);
	for (uint32_t i = 0; i < run->ndevices; i++) {
		struct suite_device *d = &run->devices[i];
		struct progress progress = { run, d, 0 };

		suite_run_device(run, d, show_progress, &progress);
		fprintf(stderr, "%s%s, %s: %u of %u cases passed, %u failed, %u skipped\n",
			isatty(STDERR_FILENO) ? "\r" : "", d->caps.backend, d->caps.name,
			suite_count(run, d, NULL, SUITE_PASSED), run->suite.ncases,
			suite_count(run, d, NULL, SUITE_FAILED), suite_count(run, d, NULL, SUITE_SKIPPED));
	}
	gpubpf_workers_reuse(false);
}

/* Write the results to the file that the option names, if it was passed. write() writes the option's format. */
static int write_file(const struct cli_args *args, enum cli_option option, const struct suite_run *run,
		      void (*write)(const struct suite_run *run, FILE *out))
{
	const char *path = cli_str(args, option, NULL);
	FILE *f = path ? fopen(path, "we") : NULL;

	if (!path)
		return CLI_OK;
	if (f)
		write(run, f);
	if (f && !ferror(f) && fclose(f) == 0)
		return CLI_OK;
	cli_error("%s: %s; name a file that can be written", path, strerror(errno));
	return CLI_FAILED;
}

static int write_results(const struct cli_args *args, const struct suite_run *run)
{
	int status = write_file(args, OPT_JUNIT, run, suite_write_junit);

	if (status == CLI_OK)
		status = write_file(args, OPT_MARKDOWN, run, suite_write_markdown);
	(cli_has(args, OPT_JSON) ? suite_write_json : suite_write_text)(run, stdout);
	for (uint32_t i = 0; i < run->ndevices; i++)
		if (suite_count(run, &run->devices[i], NULL, SUITE_FAILED))
			status = CLI_FAILED;
	return status;
}

static int read_suite(const struct cli_args *args, struct suite_run *run)
{
	struct suite *s = &run->suite;
	const char *table = cli_str(args, OPT_TESTS, NULL), *glob = cli_str(args, OPT_CASE, NULL);
	char why[512];
	int err;

	if (run->random)
		err = suite_make_random(s, run->seed);
	else if (table)
		err = suite_read_table(s, table, glob, why, sizeof(why));
	else
		err = suite_read(s, glob, why, sizeof(why));
	if (!err && table && run->route)
		err = suite_find(s, why, sizeof(why));
	if (err < 0)
		cli_error("%s", why);
	else if (!s->ncases)
		cli_error("--case %s: no case matches; gpubpf conformance --backend host -j lists all", glob ? glob : "*");
	return err < 0 || !s->ncases ? CLI_FAILED : CLI_OK;
}

/*
 * Parse the value of --random, a number of programs or a number of seconds followed by s. Also parse --seed and --jobs.
 */
static int read_random(const struct cli_args *args, struct suite_run *run)
{
	const char *text = cli_str(args, OPT_RANDOM, NULL);
	uint64_t *limit = &run->programs;
	char *end;

	run->random = text != NULL;
	run->seed = (uint64_t)time(NULL);
	run->jobs = 1;
	if (!cli_u64(args, OPT_SEED, 0, &run->seed) || !cli_u64(args, OPT_JOBS, 1, &run->jobs))
		return CLI_USAGE;
	if (run->jobs > SUITE_JOBS || (!text && cli_has(args, OPT_JOBS))) {
		cli_error("--jobs: needs --random, and a number from 1 to %d", SUITE_JOBS);
		return CLI_USAGE;
	}
	if (!text && cli_has(args, OPT_SEED)) {
		cli_error("--seed: needs --random");
		return CLI_USAGE;
	}
	run->direct = cli_has(args, OPT_DIRECT);
	if (run->direct && (!text || run->jobs > 1)) {
		cli_error("--direct: needs --random, and excludes --jobs");
		return CLI_USAGE;
	}
	if (!text)
		return CLI_OK;
	if (strchr(text, 's'))
		limit = &run->seconds;
	*limit = strtoull(text, &end, 10);
	if (*limit && !strcmp(end, limit == &run->seconds ? "s" : "") && run->verify)
		return CLI_OK;
	cli_error("--random %s: must be a number of programs, or of seconds as in 60s, and excludes --no-verify", text);
	return CLI_USAGE;
}

/* Read --route. It cannot be combined with --random, whose programs do not run in an application's kernels. */
static int read_route(const struct cli_args *args, struct suite_run *run)
{
	const char *name = cli_str(args, OPT_ROUTE, NULL);

	if (name && !cli_value_known(OPT_ROUTE, name))
		return CLI_USAGE;
	run->route = name ? gpubpf_target_route(name) : NULL;
	if (!name || !run->random)
		return CLI_OK;
	cli_error("--route %s: cannot be combined with --random", name);
	return CLI_USAGE;
}

/* Read --place, the placement of maps. Cases are skipped on a device that does not support the placement. */
static int read_place(const struct cli_args *args, struct suite_run *run)
{
	const char *name = cli_str(args, OPT_PLACE_ALL, NULL);
	int place = name ? gpubpf_placement_find(name) : GPUBPF_PLACE_DEVICE;

	if (name && !cli_value_known(OPT_PLACE_ALL, name))
		return CLI_USAGE;
	run->place = place;
	if (!place || (!run->random && !cli_has(args, OPT_TESTS)))
		return CLI_OK;
	cli_error("--place %s: cannot be combined with --random or --tests, whose programs have no maps", name);
	return CLI_USAGE;
}

static int run_suite(const struct cli_args *args, struct suite_run *run)
{
	if (find_devices(run, cli_str(args, OPT_ON, NULL)) < 0) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	if (!run->ndevices) {
		for (uint32_t i = 0; i < run->nmissing; i++)
			cli_error("%s: %s", run->missing[i].backend, run->missing[i].why);
		return CLI_FAILED;
	}
	run_devices(run);
	return write_results(args, run);
}

int gpubpf_cmd_conformance(const struct cli_args *args)
{
	const char *only = cli_str(args, OPT_ON, NULL);
	struct suite_run run = { .target = cli_str(args, OPT_TARGET, NULL),
				 .device = cli_str(args, OPT_DEVICE, NULL),
				 .verify = !cli_has(args, OPT_NO_VERIFY) };
	char runtime_dir[4096], cache[4096];
	int status;

	run.variable = cli_env_variable;
	run.cache = cli_env_cache_dir(cache, sizeof(cache));
	run.runtime_dir = cli_env_runtime_dir(runtime_dir, sizeof(runtime_dir));
	if (only && strcmp(only, HOST) && !cli_backend_known(only))
		return CLI_USAGE;
	status = read_random(args, &run);
	if (status == CLI_OK)
		status = read_route(args, &run);
	if (status == CLI_OK)
		status = read_place(args, &run);
	if (status == CLI_OK)
		status = read_suite(args, &run);
	if (status == CLI_OK)
		status = run_suite(args, &run);
	for (uint32_t i = 0; i < run.ndevices; i++)
		free(run.devices[i].results);
	free(run.devices);
	suite_finish(&run.suite);
	return status;
}
