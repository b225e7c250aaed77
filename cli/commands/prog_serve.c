/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf prog serve: runs a program of section gpu/run/ for batches of data, in one resident kernel. */
#include "cli/cli.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/direct.h"
#include "core/model/prog.h"
#include "core/session/base/json_write.h"
#include "core/session/report/report.h"
#include "core/session/session.h"
#include "core/wire/files/open_file.h"

#define MAX_IN_FLIGHT 65536
#define MAX_DATA (1ull << 31)
#define SAMPLES 65536 /* times of requests that are kept for the median */

struct serve {
	const struct cli_args *args;
	struct gpubpf_session *s;
	const struct gpubpf_prog *prog;
	struct gpubpf_executor *executor;
	struct gpubpf_executor_opts opts;
	uint8_t *data;
	uint64_t repeat, batch, in_flight, limit_ms;
	struct pending {
		uint64_t request, begin_ns;
	} *pending; /* [in_flight], a ring */
	/* results */
	uint64_t runs, sum, total_ns, least_ns, most_ns;
	uint64_t *times; /* [SAMPLES] */
	bool json;
};

static uint64_t read_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* -- options -- */

/* Create the data: the bytes of --data-in, followed by zeros up to --data-size and to a multiple of 8. */
static int create_data(struct serve *v, FILE *in)
{
	struct stat st = { 0 };
	uint64_t size;

	if (in)
		fstat(fileno(in), &st);
	size = (uint64_t)st.st_size;
	if (!cli_u64(v->args, OPT_DATA_SIZE, 1, &size))
		return CLI_USAGE;
	size = (size + 7) / 8 * 8;
	if (size >= MAX_DATA || !(v->data = calloc(1, size + 8))) {
		cli_error("%llu bytes of data: must be below 2 GiB", (unsigned long long)size);
		return CLI_FAILED;
	}
	v->opts.data_in = v->data;
	v->opts.data_size = size;
	if (!in || fread(v->data, 1, size, in) == (size_t)st.st_size || !ferror(in))
		return CLI_OK;
	cli_error("--data-in %s: cannot be read", cli_str(v->args, OPT_DATA_IN, ""));
	return CLI_FAILED;
}

static int read_data(struct serve *v)
{
	const char *path = cli_str(v->args, OPT_DATA_IN, NULL);
	FILE *in = path ? gpubpf_fopen_regular(path) : NULL;
	int status;

	if (path && !in) {
		cli_error("--data-in %s: cannot be read: %s", path, strerror(errno));
		return CLI_FAILED;
	}
	status = create_data(v, in);
	if (in)
		fclose(in);
	return status;
}

static int get_options(struct serve *v)
{
	const struct cli_args *args = v->args;
	uint64_t blocks = 1, threads = 1;

	v->repeat = v->in_flight = 1;
	v->limit_ms = 300000;
	v->opts.sz = sizeof(v->opts);
	v->opts.backend = cli_str(args, OPT_RUN_ON, cli_env_backend());
	v->opts.device = cli_str(args, OPT_DEVICE, NULL);
	if ((v->opts.backend && !cli_value_known(OPT_RUN_ON, v->opts.backend)) || !cli_u64(args, OPT_SMS, 1, &blocks) ||
	    !cli_u64(args, OPT_BLOCK, 1, &threads) || !cli_u64(args, OPT_REPEAT, 1, &v->repeat) ||
	    !cli_u64(args, OPT_IN_FLIGHT, 1, &v->in_flight) || !cli_ms(args, OPT_LIMIT, &v->limit_ms))
		return CLI_USAGE;
	if (blocks > 1024 || threads > 1024 || v->in_flight > MAX_IN_FLIGHT || v->limit_ms > UINT32_MAX) {
		cli_error("--sms and --block must be at most 1024, --in-flight at most %d, and --wait below 2^32 ms",
			  MAX_IN_FLIGHT);
		return CLI_USAGE;
	}
	v->opts.blocks = (uint32_t)blocks;
	v->opts.threads = (uint32_t)threads;
	v->opts.timeout_ms = (uint32_t)v->limit_ms;
	return read_data(v);
}

static int get_batch(struct serve *v)
{
	v->batch = v->opts.data_size;
	if (!cli_u64(v->args, OPT_BATCH, 8, &v->batch))
		return CLI_USAGE;
	if (v->batch % 8 || v->batch > v->opts.data_size) {
		cli_error("--batch %llu: must be a multiple of 8, and at most the %zu bytes of the data",
			  (unsigned long long)v->batch, v->opts.data_size);
		return CLI_USAGE;
	}
	v->pending = calloc(v->in_flight, sizeof(*v->pending));
	v->times = calloc(SAMPLES, sizeof(*v->times));
	return v->pending && v->times ? CLI_OK : CLI_FAILED;
}

/* -- requests -- */

static int end_request(struct serve *v, const struct pending *p)
{
	uint32_t result = 0;
	uint64_t ns;
	int err = gpubpf_executor__wait(v->executor, p->request, (uint32_t)v->limit_ms, &result);

	if (err < 0)
		return err;
	ns = read_clock_ns() - p->begin_ns;
	v->least_ns = !v->runs || ns < v->least_ns ? ns : v->least_ns;
	v->most_ns = ns > v->most_ns ? ns : v->most_ns;
	v->times[v->runs++ % SAMPLES] = ns;
	v->sum += result;
	return 0;
}

/* Submit a request, with the oldest ones waited for while no queue has room. Advances *first past these. */
static int submit(struct serve *v, size_t offset, size_t size, uint64_t *first, uint64_t last)
{
	struct pending *p = &v->pending[last % v->in_flight];
	int err;

	p->begin_ns = read_clock_ns();
	while ((err = gpubpf_executor__submit(v->executor, offset, size, &p->request)) == -EAGAIN && *first < last) {
		err = end_request(v, &v->pending[(*first)++ % v->in_flight]);
		if (err < 0)
			return err;
		p->begin_ns = read_clock_ns();
	}
	return err;
}

/* Request runs for all batches, `repeat` times, with up to in_flight requests at the same time. */
static int run_requests(struct serve *v)
{
	uint64_t batches = v->batch ? (v->opts.data_size + v->batch - 1) / v->batch : 1;
	uint64_t total = batches * v->repeat, begin = read_clock_ns(), first = 0, last = 0;
	int err = 0;

	for (; err >= 0 && last < total; last++) {
		uint64_t offset = last % batches * v->batch;
		size_t left = v->opts.data_size - offset;

		if (last - first == v->in_flight)
			err = end_request(v, &v->pending[first++ % v->in_flight]);
		if (err >= 0)
			err = submit(v, offset, left < v->batch ? left : v->batch, &first, last);
	}
	while (err >= 0 && first < last)
		err = end_request(v, &v->pending[first++ % v->in_flight]);
	v->total_ns = read_clock_ns() - begin;
	return err;
}

/* -- results -- */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t find_median(struct serve *v)
{
	size_t n = v->runs < SAMPLES ? v->runs : SAMPLES;

	qsort(v->times, n, sizeof(*v->times), compare_times);
	return n ? v->times[n / 2] : 0;
}

static double compute_rate(const struct serve *v)
{
	return v->total_ns ? 1e9 * (double)v->runs / (double)v->total_ns : 0;
}

static double compute_data_rate(const struct serve *v)
{
	return v->total_ns ? (double)v->opts.data_size * (double)v->repeat / (double)v->total_ns : 0;
}

static int print_text(struct serve *v)
{
	struct gpubpf_report_opts report = { .sz = sizeof(report), .maps_only = true };

	printf("%s (%s) on %s (%s)\n", gpubpf_prog__name(v->prog), gpubpf_prog__section_name(v->prog),
	       v->opts.used_device, v->opts.used_backend);
	printf("  runs            %llu in one launch of %u blocks of %u threads, %llu at a time\n",
	       (unsigned long long)v->runs, v->opts.blocks, v->opts.threads, (unsigned long long)v->in_flight);
	printf("  sum of results  %llu\n", (unsigned long long)v->sum);
	printf("  time per run    median %.3f us; shortest %.3f us; longest %.3f us, from the request to its answer\n",
	       (double)find_median(v) / 1e3, (double)v->least_ns / 1e3, (double)v->most_ns / 1e3);
	printf("  rate            %.0f runs/s", compute_rate(v));
	if (v->opts.data_size)
		printf("; %.3f GB/s in batches of %llu bytes", compute_data_rate(v), (unsigned long long)v->batch);
	putchar('\n');
	return gpubpf_session__report(v->s, stdout, &report);
}

static struct json_object *serve_json(struct serve *v)
{
	struct json_object *to = json_object_new_object();
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "blocks", v->opts.blocks },
		{ "threads", v->opts.threads },
		{ "in_flight", v->in_flight },
		{ "runs", v->runs },
		{ "results_sum", v->sum },
		{ "total_ns", v->total_ns },
		{ "time_median_ns", find_median(v) },
		{ "time_min_ns", v->least_ns },
		{ "time_max_ns", v->most_ns },
		{ "data_bytes", v->opts.data_size },
		{ "batch_bytes", v->batch },
	};

	json_object_object_add(to, "program", json_object_new_string(gpubpf_prog__name(v->prog)));
	json_object_object_add(to, "section", json_object_new_string(gpubpf_prog__section_name(v->prog)));
	json_object_object_add(to, "backend", json_object_new_string(v->opts.used_backend));
	json_object_object_add(to, "device", json_object_new_string(v->opts.used_device));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_object_add(to, numbers[i].name, json_object_new_uint64(numbers[i].value));
	json_object_object_add(to, "runs_per_s", json_object_new_double(compute_rate(v)));
	json_object_object_add(to, "data_gb_per_s", json_object_new_double(compute_data_rate(v)));
	return to;
}

static int print_json(struct serve *v)
{
	struct gpubpf_report_opts report = { .sz = sizeof(report),
					     .json = true,
					     .json_strings = cli_has(v->args, OPT_JSON_STRINGS) };
	struct json_object *root = json_object_new_object();
	int err;

	json_object_object_add(root, "serve", serve_json(v));
	err = gpubpf_report_document(v->s, root, &report);
	gpubpf_json_write(root, stdout);
	return err;
}

static int write_data(const struct serve *v)
{
	const char *path = cli_str(v->args, OPT_DATA_OUT, NULL);
	int err = path ? cli_file_replace(path, v->data, v->opts.data_size) : 0;

	if (err < 0)
		cli_error("--data-out %s: cannot be written: %s", path, strerror(-err));
	return err < 0 ? CLI_FAILED : CLI_OK;
}

static int serve(struct serve *v)
{
	int err = gpubpf_executor__new(v->prog, &v->opts, &v->executor), end;

	if (!err)
		err = run_requests(v);
	if (v->executor)
		memcpy(v->data, gpubpf_executor__data(v->executor), v->opts.data_size);
	end = gpubpf_executor__free(v->executor);
	err = err < 0 ? err : end;
	if (!err)
		err = gpubpf_session__stop(v->s);
	if (!err)
		err = v->json ? print_json(v) : print_text(v);
	if (err < 0) {
		cli_error("%s", gpubpf_session__error(v->s)[0] ? gpubpf_session__error(v->s) :
				err == -ESHUTDOWN ? "the resident kernel ended before it answered all requests" :
						    strerror(-err));
		return CLI_FAILED;
	}
	return write_data(v);
}

int gpubpf_cmd_prog_serve(const struct cli_args *args)
{
	struct serve v = { .args = args, .json = cli_has(args, OPT_JSON) };
	int status;

	if (args->nrest < 1 || args->nrest > 2) {
		cli_error("prog serve: needs an object and the name of a program, as in gpubpf prog serve sum.bpf.o sum");
		return CLI_USAGE;
	}
	status = get_options(&v);
	if (status == CLI_OK)
		status = get_batch(&v);
	if (status == CLI_OK)
		status = cli_direct_open(args, &v.json, &v.s, &v.prog);
	if (status == CLI_OK)
		status = serve(&v);
	gpubpf_session__free(v.s);
	free(v.pending);
	free(v.times);
	free(v.data);
	return status;
}
