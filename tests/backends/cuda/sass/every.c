/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sass-every FILE ARCH OBJECT [N [FOLDER]]: makes twins of every N-th kernel of the machine code for ARCH (such as
 * sm_90) in FILE. FILE is a library, program, fatbin or cubin. The twins have OBJECT's programs at all their places.
 * The target's own checker checks each twin. Prints the number of twins, the reasons for kernels without a twin, and
 * the time per twin. The exit status is 1 if the checker refused a twin, or if there is no twin. FOLDER receives the
 * twins as NUMBER.cubin, and the assembler's output as probes.cubin. Without an assembler (libnvJitLink.so) the exit
 * status is 77. Measurements and the tests of the conformance suite use this program.
 *
 * OBJECT may be FILE.tsv with unverified programs of the public suite. Then each program gets its own twin of the
 * kernel `plain`, or, with N, one twin has N programs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/cubin/image.h"
#include "backends/cuda/sass/target.h"
#include "cli/conformance/raw/raw.h"
#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/load/internal.h"
#include "core/wire/name.h"
#include "core/worker/job.h"
#include "maps/maps.h"
#include "probes.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"

#define MAX_REASONS 64

static struct gpubpf_device_caps caps = {
	.backend = "cuda",
	.bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_GLOBALTIMER,
	.compute_units = 132,
	.warp_size = 32,
	.address_bits = 64,
};
static struct gpubpf_lower_job job;
static struct gpubpf_site_desc sites[GPUBPF_NSITES];
static uint32_t kinds; /* number of these */
static struct gpubpf_twin_image probes;
static const char *folder; /* folder to which twins are written, or NULL */
static const char *only;   /* kernel, or NULL */
static struct {
	uint32_t every, seen, tried, made, wrong;
	double seconds;
	struct {
		char text[240];
		uint32_t n;
	} reasons[MAX_REASONS];
	uint32_t nreasons;
} all = { .every = 1 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void count_reason(const char *kernel, const char *what)
{
	uint32_t i = 0;

	if (strstr(what, "machine code failed") && !all.wrong++)
		printf("%s: %s\n", kernel, what);
	while (i < all.nreasons && strcmp(all.reasons[i].text, what))
		i++;
	if (i == MAX_REASONS)
		return;
	snprintf(all.reasons[i].text, sizeof(all.reasons[i].text), "%s", what);
	all.reasons[i].n++;
	all.nreasons += i == all.nreasons;
}

/* Makes the twin of one kernel of the image by the same steps as a session. */
static int make_twin(const struct gpubpf_image *image, struct gpubpf_twin_image *twin, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2,
					   .probes = probes.piece[0].blob.data,
					   .probes_size = probes.piece[0].blob.size };
	struct gpubpf_kernel_info *info;
	uint32_t n;
	int err = sass_inspect(image, &caps, &info, &n, diag);

	if (err < 0)
		return err;
	err = !n || info->reason[0] ? gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", n ? info->reason : "?") :
				      0;
	if (!err) {
		insert_everywhere(&job, info, n); /* inserts in the kernel, and in the functions that it calls */
		err = sass_inject(image, &job, &opts, twin, diag);
	}
	free(info);
	return err;
}

/* Writes the twin's cubin and the table after it, which lists the addresses that the agent fills in. */
static void write_twin(const char *name, const struct gpubpf_twin_piece *piece)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.cubin", folder, name);
	f = fopen(path, "w");
	if (!f || fwrite(piece->blob.data, piece->blob.size, 1, f) != 1 || fclose(f))
		printf("%s: %s\n", path, strerror(errno));
}

static void try_kernel(struct gpubpf_image *image, const char *name)
{
	struct gpubpf_twin_image twin = { 0 };
	struct gpubpf_diag diag;
	double from = now();
	char number[16];
	int err;

	for (uint32_t i = 0; i < job.nsites; i++)
		gpubpf_name_short(name, strlen(name), sites[i].kernel);
	gpubpf_diag_init(&diag);
	image->kernel = sites[0].kernel;
	err = make_twin(image, &twin, &diag);
	all.tried++;
	all.seconds += now() - from;
	if (err < 0)
		count_reason(name, diag.what);
	else
		all.made++;
	snprintf(number, sizeof(number), "%u", all.made);
	if (!err && folder)
		write_twin(number, &twin.piece[0]);
	gpubpf_twin_image_finish(&twin);
}

static int try_cubin(void *arg, const void *data, size_t size, struct gpubpf_diag *diag)
{
	static uint8_t digest[GPUBPF_IMAGE_DIGEST]; /* each image needs another digest, because all images stay open */
	static uint32_t number;
	struct gpubpf_image image = {
		.data = data, .size = size, .kind = GPUBPF_IMAGE_CUBIN, .places = kinds, .digest = digest
	};
	struct sass_cubin cubin;

	number++;
	memcpy(digest, &number, sizeof(number));
	if (sass_cubin_open(data, size, &cubin, diag) < 0) {
		count_reason("a cubin", diag->what);
		return 0;
	}
	for (uint32_t i = 0; i < cubin.nkernels; i++)
		if (only ? !strcmp(cubin.symbols[cubin.kernels[i].symbol].name, only) : all.seen++ % all.every == 0)
			try_kernel(&image, cubin.symbols[cubin.kernels[i].symbol].name);
	sass_cubin_finish(&cubin);
	return 0;
}

static int make_job(const char *object, struct gpubpf_diag *diag)
{
	static uint32_t progs[GPUBPF_NSITES][GPUBPF_MAX_PROGS];
	static struct gpubpf_layout layout;
	uint32_t nsites = 0;
	struct gpubpf_load_opts load = { .npaths = 1, .all_gpu = true, .paths = &object };
	struct gpubpf_verify_opts how = { 0 };
	struct gpubpf_layout_opts place = { .replicas = 132, .threads = 1 << 16 };
	struct gpubpf_loaded *loaded;
	int err = gpubpf_load(&load, &loaded, diag);

	for (uint32_t i = 0; !err && i < loaded->unit.nprogs; i++)
		err = gpubpf_verify(&loaded->unit, &loaded->unit.progs[i], &how, diag);
	if (err < 0)
		return err;
	place.map_use = loaded->unit.progs->facts->map_use;
	err = gpubpf_layout_compute(&loaded->unit, &place, &layout, diag);
	for (uint32_t site = GPUBPF_SITE_ENTRY; site < GPUBPF_NSITES; site++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < loaded->unit.nprogs && n < GPUBPF_MAX_PROGS; i++)
			if (loaded->unit.progs[i].site == site)
				progs[site][n++] = i;
		if (!n)
			continue;
		sites[nsites++] =
			(struct gpubpf_site_desc){ .site = site, .kernel_id = 1, .progs = progs[site], .nprogs = n };
		kinds |= 1u << site;
	}
	job = (struct gpubpf_lower_job){ .unit = &loaded->unit,
					 .layouts = layout.maps,
					 .layout_hash = layout.hash,
					 .sites = sites,
					 .nsites = nsites,
					 .caps = &caps };
	return err;
}

/* -- programs of the public suite -- */

static int make_raw_job(struct conformance_case *const *cases, uint32_t n, struct gpubpf_unit *unit,
			struct gpubpf_layout *layout, struct gpubpf_diag *diag)
{
	static uint32_t progs[CONFORMANCE_TOGETHER], use[CONFORMANCE_TOGETHER];
	struct gpubpf_layout_opts place = { .replicas = 132, .threads = 1 << 16, .map_use = use };
	int err = conformance_unit(cases, n, only, unit, diag);

	for (uint32_t i = 0; i < n && !err; i++) {
		progs[i] = i;
		use[i] = GPUBPF_USE_READ | GPUBPF_USE_WRITE;
		err = gpubpf_facts_unproven(&unit->progs[i]);
	}
	if (!err)
		err = gpubpf_layout_compute(unit, &place, layout, diag);
	sites[0] = (struct gpubpf_site_desc){ .site = GPUBPF_SITE_ENTRY, .progs = progs, .nprogs = n };
	job = (struct gpubpf_lower_job){ .unit = unit,
					 .layouts = layout->maps,
					 .layout_hash = layout->hash,
					 .sites = sites,
					 .nsites = 1,
					 .caps = &caps,
					 .run_in_maps = true,
					 .plain_mem = true,
					 .checked = true };
	return err;
}

static int try_programs(struct conformance_case *const *cases, uint32_t n, const void *file, size_t size,
			struct gpubpf_diag *diag)
{
	struct gpubpf_unit unit = { 0 };
	struct gpubpf_layout layout = { 0 };
	int err = make_raw_job(cases, n, &unit, &layout, diag);

	gpubpf_twin_image_finish(&probes);
	if (!err)
		err = make_probes(&job, &probes, diag);
	if (!err)
		err = sass_image_each(file, size, strtoul(caps.arch + 3, NULL, 10), try_cubin, NULL, diag);
	gpubpf_layout_finish(&layout);
	gpubpf_unit_finish(&unit);
	return err;
}

/*
 * Reads a line of fields separated by tabs: name, version, group, count, flags, result, -, program, memory. Returns
 * false for a line without a program.
 */
static bool read_line(char *line, struct conformance_case *c)
{
	char *column[9] = { 0 };

	for (int i = 0; i < 9 && (column[i] = strsep(&line, "\t")); i++)
		;
	*c = (struct conformance_case){ 0 };
	if (column[7])
		conformance_parse(c, column[8] ? column[8] : "", column[7]);
	if (column[7] && !c->error[0])
		return true;
	count_reason(column[0], column[7] ? c->error : "no line of the suite");
	conformance_finish(c);
	return false;
}

static int try_table(const char *path, uint32_t together, const void *file, size_t size, struct gpubpf_diag *diag)
{
	static struct conformance_case cases[CONFORMANCE_TOGETHER], *list[CONFORMANCE_TOGETHER];
	char *text = read_file(path, &(size_t){ 0 }), *rest = text, *line;
	uint32_t n = 0;
	int err = 0;

	only = "plain";
	kinds = 1u << GPUBPF_SITE_ENTRY;
	while (!err && (line = strsep(&rest, "\n"))) {
		line[strcspn(line, "\r")] = 0;
		all.seen += line[0] != 0;
		if (line[0] && read_line(line, &cases[n])) {
			list[n] = &cases[n];
			n++;
		}
		if (!n || (rest && n < together))
			continue;
		err = try_programs(list, n, file, size, diag);
		while (n)
			conformance_finish(&cases[--n]);
	}
	free(text);
	return err;
}

int main(int argc, char **argv)
{
	struct gpubpf_diag diag;
	size_t size;
	char *file;
	int err;

	if (argc < 4) {
		fprintf(stderr, "Usage: %s FILE ARCH OBJECT [N [FOLDER]]\n", argv[0]);
		return 2;
	}
	gpubpf_diag_init(&diag);
	snprintf(caps.arch, sizeof(caps.arch), "%s", argv[2]);
	all.every = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	folder = argc > 5 ? argv[5] : NULL;
	file = read_file(argv[1], &size); /* read_file() ends the program on failure */
	if (strlen(argv[3]) > 4 && !strcmp(argv[3] + strlen(argv[3]) - 4, ".tsv")) {
		err = try_table(argv[3], all.every && all.every < CONFORMANCE_TOGETHER ? all.every : CONFORMANCE_TOGETHER,
				file, size, &diag);
	} else {
		err = make_job(argv[3], &diag);
		if (!err)
			err = make_probes(&job, &probes, &diag);
		if (!err && folder)
			write_twin("probes", &probes.piece[0]);
		if (!err)
			err = sass_image_each(file, size, strtoul(argv[2] + 3, NULL, 10), try_cubin, NULL, &diag);
	}
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], diag.what);
		return strstr(diag.what, "no assembler") ? 77 : 2;
	}
	printf("%u %s, %u tried, %u twins (%.2f %%), %.2f ms each\n", all.seen, only ? "programs" : "kernels", all.tried,
	       all.made, 100.0 * all.made / (all.tried + !all.tried), 1e3 * all.seconds / (all.tried + !all.tried));
	for (uint32_t i = 0; i < all.nreasons; i++)
		printf("%7u %s\n", all.reasons[i].n, all.reasons[i].text);
	return all.wrong || !all.made;
}
