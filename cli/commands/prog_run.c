/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf prog run: runs a program of section gpu/run/ on a device, without an application. */
#include "cli/cli.h"
#include "cli/direct.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/model/prog.h"
#include "core/session/base/json_write.h"
#include "core/session/report/report.h"
#include "core/session/session.h"
#include "core/wire/files/open_file.h"

#define MAX_DATA (1ull << 40) /* maximum size of the data buffer in bytes */

struct run {
	const struct cli_args *args;
	struct gpubpf_session *s;
	const struct gpubpf_prog *prog;
	struct gpubpf_test_run_opts opts;
	uint8_t *data; /* the buffer of opts, or NULL */
	bool json;
};

/* -- options -- */

/* Parse "X", "XxY" or "XxYxZ". */
static bool get_size(const struct cli_args *args, enum cli_option option, uint32_t size[3])
{
	const char *text = cli_str(args, option, "1");
	const char *at = text;

	for (int d = 0; d < 3; d++) {
		char *end;
		unsigned long long n = strtoull(at, &end, 10);

		size[d] = d && !*at ? 1 : (uint32_t)n;
		if (d && !*at)
			continue;
		if (*at < '0' || *at > '9' || !n || n > UINT32_MAX || (*end && (*end != 'x' || !end[1] || d == 2))) {
			cli_error("--%s %s: must be X, XxY or XxYxZ with numbers from 1 to 4294967295, as in 64x1x1",
				  cli_options[option].long_name, text);
			return false;
		}
		at = *end ? end + 1 : end;
	}
	return true;
}

/* Create the data buffer: the bytes of --data-in, followed by zeros if --data-size is larger. */
static int create_data(struct run *r, FILE *in)
{
	struct stat st = { 0 };
	uint64_t size;

	if (in)
		fstat(fileno(in), &st);
	size = (uint64_t)st.st_size;
	if (!cli_u64(r->args, OPT_DATA_SIZE, 1, &size))
		return CLI_USAGE;
	if (size > MAX_DATA || !(r->data = calloc(1, size + 1))) {
		cli_error("no memory for %llu bytes of data", (unsigned long long)size);
		return CLI_FAILED;
	}
	r->opts.data_in = r->opts.data_out = r->data;
	r->opts.data_size_in = r->opts.data_size_out = size;
	if (!in || fread(r->data, 1, size, in) == size || !ferror(in))
		return CLI_OK;
	cli_error("--data-in %s: cannot be read", cli_str(r->args, OPT_DATA_IN, ""));
	return CLI_FAILED;
}

static int read_data(struct run *r)
{
	const char *path = cli_str(r->args, OPT_DATA_IN, NULL);
	FILE *in = path ? gpubpf_fopen_regular(path) : NULL;
	int status;

	if (path && !in) {
		cli_error("--data-in %s: cannot be read: %s", path, strerror(errno));
		return CLI_FAILED;
	}
	status = create_data(r, in);
	if (in)
		fclose(in);
	return status;
}

static int get_options(struct run *r)
{
	const struct cli_args *args = r->args;
	uint64_t repeat = 1, limit_ms = 0;

	r->opts.sz = sizeof(r->opts);
	r->opts.backend = cli_str(args, OPT_RUN_ON, cli_env_backend());
	r->opts.device = cli_str(args, OPT_DEVICE, NULL);
	if ((r->opts.backend && !cli_value_known(OPT_RUN_ON, r->opts.backend)) ||
	    !get_size(args, OPT_GRID, r->opts.grid) || !get_size(args, OPT_BLOCK, r->opts.block) ||
	    !cli_u64(args, OPT_REPEAT, 1, &repeat) || !cli_ms(args, OPT_LIMIT, &limit_ms))
		return CLI_USAGE;
	if (repeat > UINT32_MAX || limit_ms > UINT32_MAX) {
		cli_error("--repeat and --wait must be below 2^32");
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_DATA_OUT) && !cli_has(args, OPT_DATA_IN) && !cli_has(args, OPT_DATA_SIZE)) {
		cli_error("--data-out %s: there is no data; add --data-in FILE or --data-size BYTES",
			  cli_str(args, OPT_DATA_OUT, ""));
		return CLI_USAGE;
	}
	r->opts.repeat = (uint32_t)repeat;
	r->opts.timeout_ms = (uint32_t)limit_ms;
	return read_data(r);
}

/* -- results -- */

static uint64_t count_threads(const struct run *r)
{
	uint64_t n = 1;

	for (int d = 0; d < 3; d++)
		n *= (uint64_t)r->opts.grid[d] * r->opts.block[d];
	return n;
}

/* Returns the rate at which runs pass the data, in GB/s. */
static double compute_data_rate(const struct run *r)
{
	return r->opts.duration ? (double)r->opts.data_size_in / (double)r->opts.duration : 0;
}

static void print_times(const struct run *r)
{
	const struct gpubpf_test_run_opts *o = &r->opts;

	if (o->repeat > 1)
		printf("  time per run    %.3f us; shortest %.3f us; first %.3f us, with the program's compilation\n",
		       (double)o->duration / 1e3, (double)o->duration_min / 1e3, (double)o->duration_first / 1e3);
	else
		printf("  time per run    %.3f us, with the program's compilation; --repeat measures without it\n",
		       (double)o->duration / 1e3);
}

static int print_text(struct run *r)
{
	const struct gpubpf_test_run_opts *o = &r->opts;
	struct gpubpf_report_opts report = { .sz = sizeof(report), .maps_only = true };

	printf("%s (%s) on %s (%s)\n", gpubpf_prog__name(r->prog), gpubpf_prog__section_name(r->prog), o->used_device,
	       o->used_backend);
	printf("  runs            %u of %llu threads: grid %ux%ux%u, block %ux%ux%u\n", o->repeat,
	       (unsigned long long)count_threads(r), o->grid[0], o->grid[1], o->grid[2], o->block[0], o->block[1],
	       o->block[2]);
	printf("  result          %u (0x%x)\n", o->retval, o->retval);
	print_times(r);
	printf("  instructions    not known; at most %llu per thread\n",
	       (unsigned long long)gpubpf_prog__max_cost(r->prog));
	if (o->data_size_in)
		printf("  data            %zu bytes, %.3f GB/s\n", o->data_size_in, compute_data_rate(r));
	return gpubpf_session__report(r->s, stdout, &report);
}

static void add_size(struct json_object *to, const char *name, const uint32_t size[3])
{
	struct json_object *list = json_object_new_array();

	for (int d = 0; d < 3; d++)
		json_object_array_add(list, json_object_new_uint64(size[d]));
	json_object_object_add(to, name, list);
}

static struct json_object *run_json(const struct run *r)
{
	const struct gpubpf_test_run_opts *o = &r->opts;
	struct json_object *run = json_object_new_object();

	json_object_object_add(run, "program", json_object_new_string(gpubpf_prog__name(r->prog)));
	json_object_object_add(run, "section", json_object_new_string(gpubpf_prog__section_name(r->prog)));
	json_object_object_add(run, "backend", json_object_new_string(o->used_backend));
	json_object_object_add(run, "device", json_object_new_string(o->used_device));
	add_size(run, "grid", o->grid);
	add_size(run, "block", o->block);
	json_object_object_add(run, "repeat", json_object_new_uint64(o->repeat));
	json_object_object_add(run, "result", json_object_new_uint64(o->retval));
	json_object_object_add(run, "time_ns", json_object_new_uint64(o->duration));
	json_object_object_add(run, "time_min_ns", json_object_new_uint64(o->duration_min));
	json_object_object_add(run, "time_first_ns", json_object_new_uint64(o->duration_first));
	json_object_object_add(run, "instructions", NULL);
	json_object_object_add(run, "max_instructions", json_object_new_uint64(gpubpf_prog__max_cost(r->prog)));
	json_object_object_add(run, "data_bytes", json_object_new_uint64(o->data_size_in));
	json_object_object_add(run, "data_gb_per_s", json_object_new_double(compute_data_rate(r)));
	return run;
}

static int print_json(struct run *r)
{
	struct gpubpf_report_opts report = { .sz = sizeof(report),
					     .json = true,
					     .json_strings = cli_has(r->args, OPT_JSON_STRINGS) };
	struct json_object *root = json_object_new_object();
	int err;

	json_object_object_add(root, "run", run_json(r));
	err = gpubpf_report_document(r->s, root, &report);
	gpubpf_json_write(root, stdout);
	return err;
}

static int write_data(const struct run *r)
{
	const char *path = cli_str(r->args, OPT_DATA_OUT, NULL);
	int err = path ? cli_file_replace(path, r->data, r->opts.data_size_in) : 0;

	if (err < 0)
		cli_error("--data-out %s: cannot be written: %s", path, strerror(-err));
	return err < 0 ? CLI_FAILED : CLI_OK;
}

static int run_program(struct run *r)
{
	int err = gpubpf_prog__test_run(r->prog, &r->opts);

	if (!err)
		err = gpubpf_session__stop(r->s);
	if (!err)
		err = r->json ? print_json(r) : print_text(r);
	if (err < 0) {
		cli_error("%s", gpubpf_session__error(r->s)[0] ? gpubpf_session__error(r->s) : strerror(-err));
		return CLI_FAILED;
	}
	return write_data(r);
}

int gpubpf_cmd_prog_run(const struct cli_args *args)
{
	struct run r = { .args = args, .json = cli_has(args, OPT_JSON) };
	int status;

	if (args->nrest < 1 || args->nrest > 2) {
		cli_error("prog run: needs an object and the name of a program, as in gpubpf prog run sum.bpf.o sum");
		return CLI_USAGE;
	}
	status = get_options(&r);
	if (status == CLI_OK)
		status = cli_direct_open(args, &r.json, &r.s, &r.prog);
	if (status == CLI_OK)
		status = run_program(&r);
	gpubpf_session__free(r.s);
	free(r.data);
	return status;
}
