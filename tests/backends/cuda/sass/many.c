/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-sass-many OBJECT: modules of many kernels, as machine code and as PTX. The test requests one twin at a time,
 * like a session. A module that stays open, with probes that were built for another kernel, must give the same twins as
 * a newly opened module with new probes. The time per twin must not grow with the size of the module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/sass/target.h"
#include "core/model/diag.h"
#include "core/worker/alike.h"
#include "core/worker/job.h"
#include "probes.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"

#define FEW 100
#define GROWS_BY 2.5               /* limit of the time's growth, for at least 20 times as many kernels */

static struct gpubpf_device_caps caps = {
	.backend = "cuda", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD, .arch = "sm_90",
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};
static struct gpubpf_lower_job job;
static struct gpubpf_site_desc sites[2];
static struct gpubpf_twin_image probes;
static struct gpubpf_worker *worker;

static int ptx_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
		       uint32_t *nkernels, struct gpubpf_diag *diag)
{
	return gpubpf_worker_inspect(worker, "ptx", image, caps, kernels, nkernels, diag);
}

static int ptx_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		      struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	return gpubpf_worker_inject(worker, "ptx", image, job, opts, out, diag);
}

/*
 * The two forms of code. This process makes twins of machine code. A worker makes twins of PTX, because they need LLVM.
 */
static const struct route {
	const char *name;
	enum gpubpf_image_kind kind;
	unsigned many, asked;             /* number of kernels of the larger module; number of twins to make */
	int (*inspect)(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
		       uint32_t *nkernels, struct gpubpf_diag *diag);
	int (*inject)(const struct gpubpf_image *image, const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		      struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
} routes[] = {
	{ "PTX", GPUBPF_IMAGE_PTX, 5000, 20, ptx_inspect, ptx_inject },
	{ "machine code", GPUBPF_IMAGE_CUBIN, 2000, 100, sass_inspect, sass_inject },
}, *route;

static void write_text(FILE *f, unsigned n)
{
	fputs(".version 7.8\n.target sm_90\n.address_size 64\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, ".visible .entry one_of_many_%u(.param .u64 to)\n{\n\t.reg .b64 %%a<3>;\n\t.reg .b32 %%x<3>;\n"
			"\tld.param.u64 %%a1, [to];\n\tcvta.to.global.u64 %%a2, %%a1;\n\tld.global.u32 %%x1, [%%a2];\n"
			"\tadd.s32 %%x2, %%x1, %u;\n\tst.global.u32 [%%a2], %%x2;\n\tret;\n}\n", i, i);
}

/* Makes a module of n kernels. For machine code the assembler compiles it. */
static int make_module(unsigned n, struct gpubpf_twin_image *module, struct gpubpf_diag *diag)
{
	struct gpubpf_blob text = { 0 };
	FILE *f = open_memstream((char **)&text.data, &text.size);
	int err;

	write_text(f, n);
	fclose(f);
	if (route->kind == GPUBPF_IMAGE_PTX) {
		*module = (struct gpubpf_twin_image){ .piece[0] = { .kind = GPUBPF_IMAGE_PTX, .blob = text }, .npieces = 1 };
		return 0;
	}
	err = assemble(&caps, &text, module, diag);
	free(text.data);
	return err;
}

static struct gpubpf_image image_of(const struct gpubpf_twin_image *module, const void *digest)
{
	return (struct gpubpf_image){ .data = module->piece[0].blob.data, .size = module->piece[0].blob.size,
				      .kind = route->kind, .options = "", .cwd = "", .digest = digest };
}

static int make_twin(struct gpubpf_image *image, unsigned kernel, struct gpubpf_twin_image *twin, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .probes = probes.piece[0].blob.data,
					   .probes_size = probes.piece[0].blob.size };
	struct gpubpf_kernel_info *infos, *info = NULL;
	uint8_t alike[GPUBPF_IMAGE_DIGEST];
	uint32_t n, named = 0;
	int err;

	for (uint32_t i = 0; i < job.nsites; i++)
		snprintf(sites[i].kernel, sizeof(sites[i].kernel), "one_of_many_%u", kernel);
	image->kernel = sites[0].kernel;
	err = route->inspect(image, &caps, &infos, &n, diag);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(infos[i].name, image->kernel)) {
			info = &infos[i];
			named++;
		}
	err = named == 1 ? 0 : gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%u kernels of that name", named);
	if (!err && image->digest) { /* as in a session that expects more kernels of this module */
		opts.alike = alike;
		err = gpubpf_job_fingerprint(&job, alike);
	}
	if (!err) {
		insert_everywhere(&job, info, 1);
		err = route->inject(image, &job, &opts, twin, diag);
	}
	free(infos);
	return err;
}

static bool is_same(const struct gpubpf_twin_image *a, const struct gpubpf_twin_image *b)
{
	const struct gpubpf_blob *x = &a->piece[0].blob, *y = &b->piece[0].blob;

	if (a->npieces != 1 || b->npieces != 1)
		return false;
	if (route->kind == GPUBPF_IMAGE_PTX)
		return are_alike(x->data, x->size, y->data, y->size);
	return x->size == y->size && !memcmp(x->data, y->data, x->size);
}

/* Makes the twins of kernels of two modules in turn, with a cached and with a fresh module, and compares them. */
static void test_same(const struct gpubpf_twin_image *modules, const char (*digests)[GPUBPF_IMAGE_DIGEST])
{
	uint32_t same = 0, tried = 0;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	for (unsigned k = 0; k < 2 * route->asked; k++, tried++) {
		struct gpubpf_image kept = image_of(&modules[k % 2], digests[k % 2]), once = image_of(&modules[k % 2], NULL);
		struct gpubpf_twin_image a = { 0 }, b = { 0 };

		same += !make_twin(&kept, k / 2, &a, &diag) && !make_twin(&once, k / 2, &b, &diag) && is_same(&a, &b);
		gpubpf_twin_image_finish(&a);
		gpubpf_twin_image_finish(&b);
	}
	ok(same == tried, "%s: %u of %u twins of modules that stay open are those of modules opened for each%s%s", route->name, same, tried,
	   diag.what[0] ? ": " : "", diag.what);
}

/* A kernel that only the larger module has must not be found in the smaller one by cached data. */
static void test_missing_kernel(const struct gpubpf_twin_image *modules, const char (*digests)[GPUBPF_IMAGE_DIGEST])
{
	struct gpubpf_image few = image_of(&modules[0], digests[0]), many = image_of(&modules[1], digests[1]);
	struct gpubpf_twin_image twin = { 0 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	ok(!make_twin(&many, FEW, &twin, &diag), "%s: a kernel of the one image is there: %s", route->name, diag.what);
	gpubpf_twin_image_finish(&twin);
	ok(make_twin(&few, FEW, &twin, &diag) < 0 && strstr(diag.what, "0 kernels"), "%s: and not in the other: %s", route->name, diag.what);
	gpubpf_twin_image_finish(&twin);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Returns the seconds per twin, for kernels spread over a module of n kernels: the least of five measurements. -1: a
 * kernel was refused.
 */
static double cost_of(const struct gpubpf_twin_image *module, const void *digest, unsigned n)
{
	struct gpubpf_image image = image_of(module, digest);
	double least = 1e9;

	for (int again = 0; again < 5; again++) {
		double from = now(), took;

		for (unsigned k = 0; k < route->asked; k++) {
			struct gpubpf_twin_image twin = { 0 };
			struct gpubpf_diag diag;

			gpubpf_diag_init(&diag);
			if (make_twin(&image, k * (n / route->asked), &twin, &diag) < 0)
				return -1;
			gpubpf_twin_image_finish(&twin);
		}
		took = (now() - from) / route->asked;
		least = took < least ? took : least;
	}
	return least;
}

/*
 * Compares the least times of both modules. Repeats the measurement if another load on the machine may have disturbed
 * it.
 */
static void test_growth(const struct gpubpf_twin_image *modules, const char (*digests)[GPUBPF_IMAGE_DIGEST])
{
	double few = 1e9, many = 1e9;

	for (int again = 0; !again || (again < 10 && many >= GROWS_BY * few && few > 0 && many > 0); again++) {
		double of_few = cost_of(&modules[0], digests[0], FEW), of_many = cost_of(&modules[1], digests[1], route->many);

		few = of_few < few ? of_few : few;
		many = of_many < many ? of_many : many;
	}
	ok(few > 0 && many > 0 && many < GROWS_BY * few, "%s: a twin of %u kernels takes %.0f us, of %u kernels %.0f us", route->name,
	   FEW, few * 1e6, route->many, many * 1e6);
}

static void test_route(void)
{
	static const char digests[2][GPUBPF_IMAGE_DIGEST] = { "the few", "the many" };
	struct gpubpf_twin_image modules[2] = { 0 };
	struct gpubpf_diag diag;
	int err = 0;

	gpubpf_diag_init(&diag);
	if (route->kind == GPUBPF_IMAGE_CUBIN)
		err = make_probes(&job, &probes, &diag);
	for (unsigned i = 0; !err && i < 2; i++)
		err = make_module(i ? route->many : FEW, &modules[i], &diag);
	if (err < 0 && strstr(diag.what, "no assembler")) {
		skip(route->name, "%s", diag.what);
	} else if (ok(!err, "%s: modules of %u and of %u kernels are made: %s", route->name, FEW, route->many, diag.what)) {
		test_same(modules, digests);
		test_missing_kernel(modules, digests);
		test_growth(modules, digests);
	}
	for (unsigned i = 0; i < 2; i++)
		gpubpf_twin_image_finish(&modules[i]);
	gpubpf_twin_image_finish(&probes);
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts how = { 0 };

	if (argc != 2 || !job_of(argv[1], false, &caps, &job) || gpubpf_worker_create(&how, &worker) < 0)
		return 2;
	memcpy(sites, job.sites, job.nsites * sizeof(*sites));
	job.sites = sites;
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		route = &routes[i];
		test_route();
	}
	gpubpf_worker_destroy(worker);
	return done();
}
