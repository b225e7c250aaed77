/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit [-kx] [-r N] TARGET CPU OUT OBJECT: emits the object's programs, verified, each as a site.
 * `emit [-kx] TARGET CPU OUT -`: emits unverified programs from lines of hex on standard input.
 * `emit [-kx] [TARGET CPU OUT]... OBJECT|-`: does the same for several targets. A refusal's diagnostic goes to
 *   OUT.refused.
 *
 * Writes the output of the target's worker to OUT. Prints the milliseconds of verification and emission: the minimum
 * and the median of N runs, after one run that starts the worker. The third number is the median of verification alone.
 *
 * A CPU of "-" is the target's default. With -k the output includes kernels. With -x the device is an x86 CPU. Exit
 * status 2 means that a program was refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "maps/maps.h"

#define MAX_PROGS 1024
#define MAX_RUNS 101

struct job {
	struct gpubpf_unit *unit;
	struct gpubpf_unit raw;
	struct gpubpf_prog progs[MAX_PROGS];
	struct gpubpf_site_desc sites[MAX_PROGS];
	uint32_t order[MAX_PROGS], use[256];
	struct gpubpf_param params[34];
	struct gpubpf_layout layout;
	struct gpubpf_lower_job lower;
	bool prints;
};

static struct gpubpf_device_caps caps = {
	.name = "test", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_KHR, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};

/* Write the diagnostic to standard error, or to the file path if that is not NULL. Returns the exit status. */
static int refused(const struct gpubpf_diag *diag, const char *path)
{
	FILE *f = path ? fopen(path, "w") : stderr;
	char text[4096];

	gpubpf_diag_format(diag, text, sizeof(text));
	if (!f || fprintf(f, "%s\n", text) < 0 || (path && fclose(f)))
		return 1;
	return path ? 0 : 2;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/*
 * Store 34 parameters in the job, two more than the context's arguments. Most are 64-bit integers; parameter 3 has a
 * name, and parameters 1 and 33 are structs of 24 bytes.
 */
static void make_params(struct job *j)
{
	for (uint32_t i = 0; i < 34; i++)
		j->params[i] = (struct gpubpf_param){
			.kind = GPUBPF_PARAM_INT, .size = 8, .align = 8, .bytes_off = UINT32_MAX,
		};
	snprintf(j->params[3].name, sizeof(j->params[3].name), "delta");
	snprintf(j->params[3].type, sizeof(j->params[3].type), "short");
	j->params[3].size = 2;
	j->params[1].kind = j->params[33].kind = GPUBPF_PARAM_BYTES;
	j->params[1].size = j->params[33].size = 24;
	j->params[1].bytes_off = 0;
	j->params[33].bytes_off = 24;
}

static void make_sites(struct job *j, bool checked)
{
	make_params(j);
	for (uint32_t i = 0; i < j->unit->nprogs; i++) {
		j->order[i] = i;
		j->sites[i] = (struct gpubpf_site_desc){
			.site = checked ? GPUBPF_SITE_ENTRY : j->unit->progs[i].site, .kernel = "kernel_of_the_test",
			.kernel_id = 7, .params = j->params, .nparams = 34, .progs = &j->order[i], .nprogs = 1,
			.may_end_thread = true,
		};
	}
	j->lower = (struct gpubpf_lower_job){
		.unit = j->unit, .sites = j->sites, .nsites = j->unit->nprogs, .caps = &caps, .checked = checked,
		.plain_mem = checked, .run_off = checked ? 4096 : 0,
	};
}

static int parse_hex(const char *line, struct gpubpf_raw_insn *insns, uint32_t *n)
{
	uint8_t *bytes = (uint8_t *)insns;
	char byte[3] = "", *end;
	uint32_t size = 0;

	for (; line[0] && line[1]; line += 2) {
		memcpy(byte, line, 2);
		bytes[size++] = strtoul(byte, &end, 16);
		if (*end)
			return -1;
	}
	*n = size / 8;
	return size && size % 8 == 0 ? 0 : -1;
}

/* Read programs from standard input, one per line; skip invalid lines. */
static void read_raw(struct job *j)
{
	static char line[1 << 20];
	static struct gpubpf_raw_insn insns[1 << 15];
	struct gpubpf_diag diag;
	uint32_t n;

	j->unit = &j->raw;
	while (j->raw.nprogs < MAX_PROGS && fgets(line, sizeof(line), stdin)) {
		struct gpubpf_unit one;

		gpubpf_diag_init(&diag);
		line[strcspn(line, "\n")] = 0;
		if (parse_hex(line, insns, &n) < 0 || gpubpf_unit_raw(insns, n, NULL, 0, &one, &diag) < 0)
			continue;
		j->progs[j->raw.nprogs++] = one.progs[0];
	}
	j->raw.progs = j->progs;
}

static int verify(struct job *j, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .allow_exit_thread = true };

	for (uint32_t i = 0; i < j->unit->nprogs; i++) {
		struct gpubpf_prog *prog = &j->unit->progs[i];

		gpubpf_facts_destroy(prog->facts);
		prog->facts = NULL;
		if (gpubpf_verify(j->unit, prog, &opts, diag) < 0)
			return -1;
		j->prints |= prog->facts->prints;
		for (uint32_t m = 0; m < j->unit->nmaps && m < 256; m++)
			j->use[m] |= prog->facts->map_use[m];
	}
	return 0;
}

static int lay_out(struct job *j, struct gpubpf_diag *diag)
{
	struct gpubpf_layout_opts opts = {
		.replicas = caps.compute_units, .threads = 1 << 16, .map_use = j->use,
		.print_bytes = j->prints ? 1 << 16 : 0,
	};

	if (gpubpf_layout_compute(j->unit, &opts, &j->layout, diag) < 0)
		return -1;
	j->lower.layouts = j->layout.maps;
	j->lower.layout_hash = j->layout.hash;
	j->lower.print_ring = j->layout.print_ring;
	j->lower.print_layout = j->layout.prints;
	return 0;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static int write_file(const char *path, const struct gpubpf_blob *blob)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(blob->data, 1, blob->size, f) != blob->size || fclose(f))
		return 1;
	return 0;
}

static int run(struct job *j, const char *target, const struct gpubpf_target_opts *opts, int runs, const char *out, const char *why)
{
	const struct gpubpf_target_info *info = gpubpf_target_find(target);
	struct gpubpf_worker_opts worker_opts = { .kind = info ? info->worker : 0, .timeout_ms = 240000 };
	struct gpubpf_blob blob = {0};
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	double ms[MAX_RUNS], verified[MAX_RUNS];
	int err = 0;

	gpubpf_diag_init(&diag);
	if (gpubpf_worker_create(&worker_opts, &worker) < 0)
		return 1;
	for (int i = 0; i <= runs && !err; i++) {
		double start = now_ms();

		free(blob.data);
		blob.data = NULL;
		if (!j->lower.checked)
			err = verify(j, &diag);
		verified[i ? i - 1 : 0] = now_ms() - start;
		if (!err && !j->lower.layouts && !j->lower.checked)
			err = lay_out(j, &diag);
		if (!err)
			err = gpubpf_worker_emit(worker, target, &j->lower, opts, &blob, &diag);
		ms[i ? i - 1 : 0] = now_ms() - start;
	}
	gpubpf_worker_cancel(worker); /* the worker's process stays and serves the next target */
	gpubpf_worker_destroy(worker);
	if (err < 0)
		return refused(&diag, why);
	qsort(ms, runs ? runs : 1, sizeof(ms[0]), compare);
	qsort(verified, runs ? runs : 1, sizeof(verified[0]), compare);
	printf("%.2f %.2f %.3f\n", ms[0], ms[runs / 2], verified[runs / 2]);
	err = write_file(out, &blob);
	free(blob.data);
	return err;
}

/* Emit for each group of three words, which are a target, a CPU and a file. Returns the first nonzero exit status. */
static int run_each(struct job *j, char **words, int n, struct gpubpf_target_opts *opts, int runs)
{
	char why[4096];
	int status = 0;

	gpubpf_workers_reuse(true);
	for (int i = 0; i < n && !status; i += 3) {
		opts->cpu = strcmp(words[i + 1], "-") ? words[i + 1] : NULL;
		snprintf(why, sizeof(why), "%s.refused", words[i + 2]);
		status = run(j, words[i], opts, runs, words[i + 2], n > 3 ? why : NULL);
	}
	gpubpf_workers_reuse(false);
	return status;
}

int main(int argc, char **argv)
{
	static struct job job;
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_load_opts load_opts = { .npaths = 1, .all_gpu = true };
	struct gpubpf_loaded *loaded = NULL;
	struct gpubpf_diag diag;
	int opt, runs = 0;

	while ((opt = getopt(argc, argv, "kxr:")) > 0) {
		opts.kernels |= opt == 'k';
		caps.bits |= opt == 'x' ? GPUBPF_CAP_X86 : 0;
		runs = opt == 'r' ? atoi(optarg) : runs;
	}
	if (argc - optind < 4 || (argc - optind) % 3 != 1 || runs < 0 || runs >= MAX_RUNS)
		return 1;
	gpubpf_diag_init(&diag);
	if (!strcmp(argv[argc - 1], "-")) {
		read_raw(&job);
	} else {
		load_opts.paths = (const char *const *)&argv[argc - 1];
		if (gpubpf_load(&load_opts, &loaded, &diag) < 0)
			return refused(&diag, NULL);
		job.unit = &loaded->unit;
	}
	make_sites(&job, loaded == NULL);
	return run_each(&job, argv + optind, argc - optind - 1, &opts, runs);
}
