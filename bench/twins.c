/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins TARGET IMAGE RUNS OBJECT: measures how long it takes to build a twin.
 *
 * The twin is built for the first GPU kernel of the file IMAGE. The BPF programs of OBJECT are inserted at all places
 * of their kinds that the target lists. The output is "PLACES FIRST MIN". FIRST is the time of the first build in ms;
 * it includes the start of the worker, which reads the image. MIN is the minimum time of RUNS later builds in ms; each
 * of them lowers the programs again. The output continues with "validated" if builds validate twins. If the target
 * needs an assembler, the output ends with "assembled MS", the assembler's minimum time, which the other times do not
 * include.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/worker/alike.h"
#include "core/worker/job.h"
#include "maps/maps.h"

static const struct target {
	const char *name, *backend, *arch;
	enum gpubpf_image_kind kind;
	uint64_t bits;
	uint32_t warp;
} targets[] = {
	{ "ptx", "cuda", "sm_80", GPUBPF_IMAGE_PTX, 0, 32 },
	{ "sass", "cuda", "sm_90", GPUBPF_IMAGE_CUBIN, 0, 32 },
	{ "amdgpu", "hip", "gfx90a", GPUBPF_IMAGE_AMDGPU, 0, 64 },
	{ "spirv", "opencl", "", GPUBPF_IMAGE_SPIRV, GPUBPF_CAP_X86, 1 },
	{ "wrap", "opencl", "", GPUBPF_IMAGE_OPENCL_C, GPUBPF_CAP_X86, 1 },
};

static struct gpubpf_diag diag;

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, diag.what);
	return 1;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;

	if (f && !fseek(f, 0, SEEK_END) && (data = calloc(1, ftell(f) + 1))) {
		*size = ftell(f);
		rewind(f);
		*size = fread(data, 1, *size, f);
	}
	if (f)
		fclose(f);
	return data;
}

/* Load and verify the object's programs, and lay out their maps. */
static int load(const char *object, struct gpubpf_loaded **loaded, struct gpubpf_layout *layout)
{
	struct gpubpf_load_opts opts = { .npaths = 1, .all_gpu = true, .paths = &object };
	struct gpubpf_layout_opts place = { .replicas = 4, .threads = 1 << 16, .allocation_tables = 1 };
	struct gpubpf_verify_opts proof = { 0 };
	int err = gpubpf_load(&opts, loaded, &diag);
	uint32_t *use = err ? NULL : calloc((*loaded)->unit.nmaps + 1, sizeof(*use));

	for (uint32_t i = 0; use && !err && i < (*loaded)->unit.nprogs; i++) {
		err = gpubpf_verify(&(*loaded)->unit, &(*loaded)->unit.progs[i], &proof, &diag);
		for (uint32_t m = 0; !err && m < (*loaded)->unit.nmaps; m++)
			use[m] |= (*loaded)->unit.progs[i].facts->map_use[m];
	}
	place.map_use = use;
	if (!err)
		err = gpubpf_layout_compute(&(*loaded)->unit, &place, layout, &diag);
	free(use);
	return err;
}

/*
 * Create a site for each kind of program that the target supports. Insert the site at all places of this kind in the
 * kernel's own code.
 */
static int fill(struct gpubpf_lower_job *job, struct gpubpf_site_desc *sites, const struct gpubpf_kernel_info *kernel,
		const struct gpubpf_device_caps *caps, const struct gpubpf_target_info *target)
{
	static uint32_t progs[GPUBPF_NSITES][64];
	struct gpubpf_insertions to = { 0 };
	char why[GPUBPF_REFUSAL_SIZE];

	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++) {
		struct gpubpf_site_desc *site = &sites[job->nsites];

		*site = (struct gpubpf_site_desc){
			.site = kind, .params = kernel->params, .nparams = kernel->nparams, .progs = progs[kind]
		};
		snprintf(site->kernel, sizeof(site->kernel), "%s", kernel->name);
		for (uint32_t i = 0; i < job->unit->nprogs && site->nprogs < 64; i++)
			if (job->unit->progs[i].site == kind)
				progs[kind][site->nprogs++] = i;
		if (!site->nprogs || gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION ||
		    !gpubpf_target_supports(target, caps, kind, why))
			continue;
		if (gpubpf_insert(&to, job->nsites++, kind, kernel) < 0)
			return -1;
	}
	job->sites = sites;
	job->insertions = to.list;
	job->ninsertions = to.n;
	return 0;
}

struct build_time {
	double made, assembled; /* times in ms; `assembled` is 0 if no assembler ran */
};

/* Assemble the job's programs to machine code. */
static int assemble(struct gpubpf_worker *reader, struct gpubpf_worker *assembler,
		    const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job,
		    struct gpubpf_target_opts *opts, struct gpubpf_twin_image *code, struct build_time *build_time)
{
	struct gpubpf_twin_image text = { .piece[0].kind = target->output, .npieces = 1 };
	struct gpubpf_lower_job reduced;
	double from = now_ms();
	char log[4096] = "";

	if (gpubpf_job_reduce(job, &reduced) < 0 ||
	    gpubpf_worker_emit(reader, target->name, &reduced, opts, &text.piece[0].blob, &diag) < 0)
		return fail("emit");
	build_time->made = now_ms() - from;
	from = now_ms();
	if (gpubpf_worker_build(assembler, job->caps, &text, code, log, sizeof(log), &diag) < 0)
		return fail(log[0] ? log : "assemble");
	build_time->assembled = now_ms() - from;
	opts->probes = code->piece[0].blob.data;
	opts->probes_size = code->piece[0].blob.size;
	free(text.piece[0].blob.data);
	free((void *)reduced.sites);
	return 0;
}

static int make(const struct target *t, const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		struct gpubpf_worker *reader, struct gpubpf_worker *assembler, struct build_time *build_time)
{
	const struct gpubpf_target_info *target = gpubpf_target_find(t->name);
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_twin_image twin, code = { 0 };
	double from;

	*build_time = (struct build_time){ 0 };
	if (gpubpf_target_has_stage(target, GPUBPF_STAGE_ASSEMBLE) &&
	    assemble(reader, assembler, target, job, &opts, &code, build_time))
		return 1;
	from = now_ms();
	if (gpubpf_worker_inject(reader, t->name, image, job, &opts, &twin, &diag) < 0)
		return fail("inject");
	build_time->made += now_ms() - from;
	gpubpf_twin_image_finish(&code);
	if (!twin.ntwins) {
		fprintf(stderr, "refused: %s\n", twin.nrefused ? twin.refused[0].reason : "");
		return 1;
	}
	gpubpf_twin_image_finish(&twin);
	return 0;
}

static int measure(const struct target *t, const struct gpubpf_image *image, struct gpubpf_lower_job *job, int runs)
{
	struct gpubpf_worker_opts how = { .kind = gpubpf_target_find(t->name)->worker },
				  with = { .kind = GPUBPF_WORKER_ASSEMBLE };
	struct gpubpf_worker *worker, *assembler = NULL;
	struct gpubpf_site_desc sites[GPUBPF_NSITES];
	struct gpubpf_kernel_info *kernels;
	struct build_time first, fastest, build_time;
	uint32_t n, k = 0;

	if (gpubpf_worker_create(&how, &worker) < 0 || gpubpf_worker_create(&with, &assembler) < 0 ||
	    gpubpf_worker_inspect(worker, t->name, image, job->caps, &kernels, &n, &diag) < 0)
		return fail("inspect");
	while (k < n && kernels[k].flags & GPUBPF_KINFO_FUNCTION)
		k++;
	if (k == n || fill(job, sites, &kernels[k], job->caps, gpubpf_target_find(t->name)) < 0)
		return fail("no kernel");
	gpubpf_worker_destroy(worker);
	if (gpubpf_worker_create(&how, &worker) < 0 || make(t, image, job, worker, assembler, &first))
		return 1;
	fastest = (struct build_time){ 1e9, 1e9 };
	for (int i = 0; i < runs; i++) {
		if (make(t, image, job, worker, assembler, &build_time))
			return 1;
		fastest.made = build_time.made < fastest.made ? build_time.made : fastest.made;
		fastest.assembled = build_time.assembled < fastest.assembled ? build_time.assembled : fastest.assembled;
	}
	printf("%u %.2f %.2f%s", job->ninsertions, first.made, fastest.made, GPUBPF_VALIDATE ? " validated" : "");
	if (first.assembled)
		printf(" assembled %.2f", fastest.assembled);
	putchar('\n');
	gpubpf_worker_destroy(assembler);
	gpubpf_worker_destroy(worker);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpubpf_image image = { .places = UINT32_MAX, .options = "", .cwd = "", .kernel = "" };
	struct gpubpf_device_caps caps = { .name = "bench", .compute_units = 4, .address_bits = 64 };
	struct gpubpf_lower_job job = { .caps = &caps };
	const struct target *t = targets, *end = targets + sizeof(targets) / sizeof(*targets);
	struct gpubpf_loaded *loaded;
	struct gpubpf_layout layout;

	while (argc == 5 && t < end && strcmp(t->name, argv[1]))
		t++;
	if (argc != 5 || t == end)
		return 2;
	snprintf(caps.backend, sizeof(caps.backend), "%s", t->backend);
	snprintf(caps.arch, sizeof(caps.arch), "%s", t->arch);
	caps.bits = t->bits | GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_LINK;
	caps.warp_size = t->warp;
	image.kind = t->kind;
	image.data = read_file(argv[2], &image.size);
	gpubpf_diag_init(&diag);
	if (!image.data || load(argv[4], &loaded, &layout) < 0)
		return fail("load");
	job.unit = &loaded->unit;
	job.layouts = layout.maps;
	job.layout_hash = layout.hash;
	job.granules = gpubpf_layout_granules(&layout);
	return measure(t, &image, &job, atoi(argv[3]));
}
