/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places-twins [-r RUNS] IMAGE DIR [OBJECT...]: makes twins of each kernel of a PTX file for each kind of place of
 * instructions or blocks. A probe at each place writes all fields of its context. Output: DIR/KERNEL.KIND.ptx, starting
 * with the names of its bindings, or DIR/KERNEL.KIND.refused with the reason. A probe writes to gpubpf_log, whose first
 * word is the number of bytes that follow: the number of the kind, then each word. DIR/words: the names of the words of
 * each kind. A kernel whose comment says "at_once" has one twin instead, with the probes of all kinds:
 * DIR/KERNEL.at_once.ptx. DIR/KERNEL.KIND.worker: the worker's twin for a kind, with all programs of the OBJECTs of that
 * kind. With RUNS the worker makes each twin RUNS times, and the tool prints "KERNEL KIND PLACES MS" with the least time;
 * at_once then has the programs of all kinds. DIR/names: KERNEL KIND ID LINE NAME of each named place. DIR/maps: size of
 * the arena in bytes; for each map its name, offset of its values, number of copies, and distance between copies in bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/ptx/analysis/places.h"
#include "backends/cuda/ptx/passes/splice.h"
#include "tests/backends/cuda/case.h"
#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/lower/ctx.h"
#include "core/lower/lower.h"
#include "core/worker/job.h"
#include "maps/maps.h"

#define MAX_PLACES 32768 /* places */

static const char prelude[] = ".visible .global .align 8 .b8 gpubpf_log[1048576];\n";

static void write_text(const char *dir, const char *kernel, const char *kind, const char *end, const char *text, size_t size,
		       const struct cuda_twin *twin)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s.%s", dir, kernel, kind, end);
	f = fopen(path, "w");
	if (!f)
		abort();
	for (uint32_t i = 0; twin && i < twin->nbindings; i++)
		fprintf(f, "//gpubpf-bind %s\n", twin->bindings[i]);
	fwrite(text, 1, size, f);
	fclose(f);
}

/* Returns the PTX of a probe that writes the number of the kind, and then each word of the context. */
static char *body_of(enum gpubpf_site kind)
{
	uint32_t words = ctx_words(kind);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	fprintf(f, ".reg .b64 %%log_a, %%log_b;\natom.global.add.u64 %%log_a, [gpubpf_log], %u;\n", 8 * (words + 1));
	fprintf(f, "mov.u64 %%log_b, gpubpf_log;\nadd.s64 %%log_b, %%log_b, %%log_a;\n");
	fprintf(f, "st.global.u64 [%%log_b+8], %u;\n", kind);
	for (uint32_t i = 0; i < words; i++)
		fprintf(f, "st.global.u64 [%%log_b+%u], " "%s%u;\n", 16 + 8 * i, CUDA_OPERAND, i);
	fclose(f);
	return text;
}

/*
 * Inserts the probe at all places of the kind: in the kernel, and in the functions of the module that the kernel calls.
 */
static uint32_t insert(const struct ptx_module *m, const char *kernel, enum gpubpf_site kind, struct gpubpf_insertion *to)
{
	static char names[256][256];
	uint32_t n = 0, nplaces, nnames = 0;
	struct ptx_place *places;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		bool function = m->nodes[c].kind == PTX_FUNCTION && !m->nodes[c].entry;

		if (m->nodes[c].kind != PTX_FUNCTION || ptx_child(m, c, PTX_BLOCK, 0) == PTX_NONE ||
		    (!function && !ptx_token_is(m, m->nodes[c].name, kernel)) ||
		    (function && strncmp(kernel, "calls", 5)))
			continue;
		snprintf(names[nnames], sizeof(names[0]), "%.*s", (int)m->tokens[m->nodes[c].name].len,
			 function ? ptx_token_text(m, m->nodes[c].name) : "");
		if (!function)
			names[nnames][0] = 0;
		if (ptx_places(m, c, 1u << kind, &places, &nplaces) < 0)
			abort();
		for (uint32_t i = 0; i < nplaces && n < MAX_PLACES; i++)
			if (places[i].kind == kind) {
				to[n] = (struct gpubpf_insertion){ gpubpf_place_of(kind, places[i].id, places[i].line), 0 };
				to[n++].place.function = names[nnames];
			}
		free(places);
		nnames++;
	}
	return n;
}

/* Makes the kernel's twin with probes at the places of these kinds. */
static void try_kinds(const struct ptx_module *m, const char *kernel, const enum gpubpf_site *kinds, uint32_t n, const char *name,
		      const char *dir)
{
	static struct gpubpf_insertion insertions[GPUBPF_NSITES * MAX_PLACES];
	struct gpubpf_site_desc sites[GPUBPF_NSITES] = { 0 };
	struct cuda_probe probes[GPUBPF_NSITES] = { 0 };
	struct gpubpf_lower_job job = { .sites = sites, .nsites = n, .insertions = insertions };
	struct cuda_twin twin;
	struct gpubpf_diag diag;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t begin = job.ninsertions;

		sites[i].site = kinds[i];
		snprintf(sites[i].kernel, sizeof(sites[i].kernel), "%s", kernel);
		probes[i].body = body_of(kinds[i]);
		probes[i].body_size = strlen(probes[i].body);
		probes[i].reads = (1ull << ctx_words(kinds[i])) - 1;
		for (job.ninsertions += insert(m, kernel, kinds[i], insertions + begin); begin < job.ninsertions; begin++)
			insertions[begin].site = i;
	}
	gpubpf_diag_init(&diag);
	if (cuda_inject(m, &job, &(struct cuda_probes){ probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag) < 0) {
		write_text(dir, kernel, name, "refused", diag.what, strlen(diag.what), NULL);
	} else {
		write_text(dir, kernel, name, "ptx", twin.text, twin.size, &twin);
		cuda_twin_finish(&twin);
	}
	for (uint32_t i = 0; i < n; i++)
		free(probes[i].body);
}

/* Is `kind` a place of single instructions with context fields, or the begin or end of a block? */
static bool has_places(enum gpubpf_site kind)
{
	return gpubpf_place_kind(kind)->spaces || kind == GPUBPF_SITE_BLOCK_BEGIN || kind == GPUBPF_SITE_BLOCK_END ||
	       gpubpf_place_has_name(kind) || gpubpf_place_kind(kind)->operands & (GPUBPF_GIVES_BARRIER | GPUBPF_GIVES_BRANCH);
}

static void write_words(const char *dir)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/words", dir);
	f = fopen(path, "w");
	if (!f)
		abort();
	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++) {
		fprintf(f, "%u %s", kind, gpubpf_place_kind(kind)->name);
		for (uint32_t k = 0; k < ctx_nfields; k++)
			for (uint32_t i = 0; i < ctx_fields[k].count; i++)
				if (ctx_field_word(&ctx_fields[k], i, kind) == UINT32_MAX)
					continue;
				else if (i > 1)
					fprintf(f, " %s+%u", ctx_fields[k].name, i);
				else
					fprintf(f, " %s%s", ctx_fields[k].name, i ? "+" : "");
		fprintf(f, "\n");
	}
	fclose(f);
}

/* -- twins with BPF programs, made by the worker -- */

static int runs; /* 0: once */
static struct gpubpf_worker *worker;
static struct gpubpf_loaded *loaded;
static struct gpubpf_layout layout;
static const struct gpubpf_device_caps caps = {
	.name = "test", .backend = "cuda", .arch = "sm_100", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS,
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 4, .warp_size = 32, .address_bits = 64,
};

static void open_programs(const char *const *objects, size_t n, const char *dir)
{
	struct gpubpf_load_opts load = { .npaths = n, .paths = objects };
	struct gpubpf_layout_opts place = { .replicas = caps.compute_units, .threads = 1 << 10, .allocation_tables = 1 };
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_verify_opts proof = { .allow_exit_thread = true };
	struct gpubpf_diag diag;
	uint32_t *use;
	char path[512];
	FILE *f;

	gpubpf_diag_init(&diag);
	snprintf(path, sizeof(path), "%s/maps", dir);
	if (gpubpf_worker_create(&how, &worker) < 0 || gpubpf_load(&load, &loaded, &diag) < 0 || !(f = fopen(path, "w")))
		abort();
	use = calloc(loaded->unit.nmaps, sizeof(*use));
	for (uint32_t i = 0; i < loaded->unit.nprogs; i++) {
		if (gpubpf_verify(&loaded->unit, &loaded->unit.progs[i], &proof, &diag) < 0)
			abort();
		for (uint32_t k = 0; k < loaded->unit.nmaps; k++)
			use[k] |= loaded->unit.progs[i].facts->map_use[k];
	}
	place.map_use = use;
	if (gpubpf_layout_compute(&loaded->unit, &place, &layout, &diag) < 0)
		abort();
	free(use);
	fprintf(f, "%llu\n", (unsigned long long)layout.size);
	for (uint32_t k = 0; k < layout.nmaps; k++)
		fprintf(f, "%s %llu %u %llu\n", loaded->unit.maps[k].name, (unsigned long long)layout.maps[k].data,
			layout.maps[k].copies, (unsigned long long)layout.maps[k].copy_stride);
	fclose(f);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* Lets the worker make the twin with all programs of these kinds. With RUNS repeats this and prints the least time. */
static void make_by_worker(const struct ptx_module *m, const char *kernel, const enum gpubpf_site *kinds, uint32_t n, const char *name,
			   const char *dir)
{
	static struct gpubpf_insertion insertions[GPUBPF_NSITES * MAX_PLACES];
	static uint32_t progs[GPUBPF_NSITES][MAX_PLACES];
	struct gpubpf_image image = { .data = m->text, .size = m->size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "",
				      .kernel = "" };
	struct gpubpf_site_desc sites[GPUBPF_NSITES] = { 0 };
	struct gpubpf_lower_job job = { .unit = &loaded->unit, .layouts = layout.maps, .layout_hash = layout.hash,
					.granules = gpubpf_layout_granules(&layout), .caps = &caps,
					.sites = sites, .insertions = insertions };
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = !runs };
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;
	double least = 0;

	for (uint32_t k = 0; k < n; k++) {
		struct gpubpf_site_desc *site = &sites[job.nsites];
		uint32_t begin = job.ninsertions;

		*site = (struct gpubpf_site_desc){ .site = kinds[k], .may_end_thread = true, .progs = progs[job.nsites] };
		snprintf(site->kernel, sizeof(site->kernel), "%s", kernel);
		for (uint32_t i = 0; i < loaded->unit.nprogs && i < MAX_PLACES; i++)
			if (loaded->unit.progs[i].site == kinds[k])
				progs[job.nsites][site->nprogs++] = i;
		if (!site->nprogs)
			continue;
		for (job.ninsertions += insert(m, kernel, kinds[k], insertions + begin); begin < job.ninsertions; begin++)
			insertions[begin].site = job.nsites;
		job.nsites++;
	}
	gpubpf_diag_init(&diag);
	for (int i = 0; job.nsites && i < (runs ? runs : 1); i++) {
		double from = now_ms();

		if (gpubpf_worker_inject(worker, "ptx", &image, &job, &opts, &twin, &diag) < 0) {
			fprintf(stderr, "%s %s: %s\n", kernel, name, diag.what);
			return;
		}
		least = !i || now_ms() - from < least ? now_ms() - from : least;
		if (!i)
			write_text(dir, kernel, name, "worker", twin.piece[0].blob.data, twin.piece[0].blob.size, NULL);
		gpubpf_twin_image_finish(&twin);
	}
	if (runs && job.nsites)
		printf("%s %s %u %.2f\n", kernel, name, job.ninsertions, least);
}

/* Writes the named places that inspection lists to DIR/names. */
static void write_names(const struct ptx_module *m, const char *dir)
{
	struct gpubpf_image image = { .data = m->text, .size = m->size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "",
				      .kernel = "", .places = gpubpf_places_of(GPUBPF_WHERE_INSN) };
	struct gpubpf_kernel_info *infos;
	struct gpubpf_diag diag;
	char path[512];
	uint32_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/names", dir);
	gpubpf_diag_init(&diag);
	if (gpubpf_worker_inspect(worker, "ptx", &image, &caps, &infos, &n, &diag) < 0 || !(f = fopen(path, "w")))
		abort();
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < infos[i].nplaces; k++) {
			const struct gpubpf_place *p = &infos[i].places[k];

			if (gpubpf_place_has_name(p->kind))
				fprintf(f, "%s %s %u %u %s\n", infos[i].name, gpubpf_place_kind(p->kind)->name, p->id, p->line,
					p->name);
		}
	fclose(f);
	free(infos);
}

/* Does the image's comment line for the kernel contain the word? */
static bool has_comment(const char *text, const char *kernel, const char *what)
{
	char key[300], line[2048], name[40];

	snprintf(key, sizeof(key), "\n// %s ", kernel);
	snprintf(name, sizeof(name), " %s ", what);
	expect_line(text, key, line + 1, sizeof(line) - 1);
	line[0] = ' ';
	return strstr(line, name);
}

static void try_kernel(const struct ptx_module *m, const char *text, const char *kernel, const char *dir)
{
	enum gpubpf_site asked[GPUBPF_NSITES], all[GPUBPF_NSITES];
	uint32_t n = 0, nall = 0;

	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++) {
		if (!has_comment(text, kernel, gpubpf_place_kind(kind)->name))
			continue;
		all[nall++] = kind;
		if (has_places(kind))
			asked[n++] = kind;
	}
	if (has_comment(text, kernel, "at_once"))
		try_kinds(m, kernel, asked, n, "at_once", dir);
	else
		for (uint32_t i = 0; i < n; i++)
			try_kinds(m, kernel, &asked[i], 1, gpubpf_place_kind(asked[i])->name, dir);
	for (uint32_t i = 0; loaded && i < nall; i++)
		make_by_worker(m, kernel, &all[i], 1, gpubpf_place_kind(all[i])->name, dir);
	if (runs && has_comment(text, kernel, "at_once"))
		make_by_worker(m, kernel, all, nall, "at_once", dir);
}

int main(int argc, char **argv)
{
	struct gpubpf_diag diag;
	struct ptx_module m;
	size_t size;
	char *text;

	if (argc > 2 && !strcmp(argv[1], "-r")) {
		runs = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 3)
		return 2;
	text = read_file(argv[1], &size);
	gpubpf_diag_init(&diag);
	if (ptx_parse(text, size, &m, &diag) < 0) {
		fprintf(stderr, "%s\n", diag.what);
		return 1;
	}
	write_words(argv[2]);
	if (argc > 3) {
		open_programs((const char *const *)argv + 3, argc - 3, argv[2]);
		write_names(&m, argv[2]);
	}
	for (uint32_t c = m.nodes[0].child; c != PTX_NONE; c = m.nodes[c].next) {
		char kernel[256];

		if (m.nodes[c].kind != PTX_FUNCTION || !m.nodes[c].entry)
			continue;
		snprintf(kernel, sizeof(kernel), "%.*s", (int)m.tokens[m.nodes[c].name].len,
			 ptx_token_text(&m, m.nodes[c].name));
		try_kernel(&m, text, kernel, argv[2]);
	}
	if (worker)
		gpubpf_worker_destroy(worker);
	ptx_finish(&m);
	free(text);
	return 0;
}
