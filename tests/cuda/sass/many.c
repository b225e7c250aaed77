/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-sass-many OBJECT: machine code of many kernels, asked for one by one as sessions ask. A module that stays open gives
 * the twins that one gives which is opened for each; and what a twin takes does not grow with the module that it is of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/sass/target.h"
#include "core/diag.h"
#include "core/worker/job.h"
#include "probes.h"
#include "tests/cuda/case.h"
#include "tests/tap.h"

#define FEW 100
#define MANY 2000
#define GROWS_BY 2.5               /* at most, for 20 times as many kernels */

static struct gpubpf_device_caps caps = {
	.backend = "cuda", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD, .arch = "sm_90",
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};
static struct gpubpf_lower_job job;
static struct gpubpf_site_desc sites[2];
static struct gpubpf_twin_image probes;

static void write_text(FILE *f, unsigned n)
{
	fputs(".version 7.8\n.target sm_90\n.address_size 64\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, ".visible .entry one_of_many_%u(.param .u64 to)\n{\n\t.reg .b64 %%a<3>;\n\t.reg .b32 %%x<3>;\n"
			"\tld.param.u64 %%a1, [to];\n\tcvta.to.global.u64 %%a2, %%a1;\n\tld.global.u32 %%x1, [%%a2];\n"
			"\tadd.s32 %%x2, %%x1, %u;\n\tst.global.u32 [%%a2], %%x2;\n\tret;\n}\n", i, i);
}

/* A module of n kernels. */
static int make_module(unsigned n, struct gpubpf_twin_image *module, struct gpubpf_diag *diag)
{
	struct gpubpf_blob text = { 0 };
	FILE *f = open_memstream((char **)&text.data, &text.size);
	int err;

	write_text(f, n);
	fclose(f);
	err = assemble(&caps, &text, module, diag);
	free(text.data);
	return err;
}

static struct gpubpf_image image_of(const struct gpubpf_twin_image *module, const void *digest)
{
	return (struct gpubpf_image){ .data = module->piece[0].blob.data, .size = module->piece[0].blob.size,
				      .kind = GPUBPF_IMAGE_CUBIN, .digest = digest };
}

/* The twin of one kernel. */
static int make_twin(struct gpubpf_image *image, unsigned kernel, struct gpubpf_twin_image *twin, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .probes = probes.piece[0].blob.data,
					   .probes_size = probes.piece[0].blob.size };
	struct gpubpf_kernel_info *info;
	uint32_t n;
	int err;

	for (uint32_t i = 0; i < job.nsites; i++)
		snprintf(sites[i].kernel, sizeof(sites[i].kernel), "one_of_many_%u", kernel);
	image->kernel = sites[0].kernel;
	err = sass_inspect(image, &caps, &info, &n, diag);
	if (err < 0)
		return err;
	err = n == 1 ? 0 : gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%u kernels of that name", n);
	if (!err) {
		insert_everywhere(&job, info, 1);
		err = sass_inject(image, &job, &opts, twin, diag);
	}
	free(info);
	return err;
}

static bool is_same(const struct gpubpf_twin_image *a, const struct gpubpf_twin_image *b)
{
	const struct gpubpf_blob *x = &a->piece[0].blob, *y = &b->piece[0].blob;

	return a->npieces == 1 && b->npieces == 1 && x->size == y->size && !memcmp(x->data, y->data, x->size);
}

/* Of every kernel, by the module that is kept and by one that is not; the two images have different kernels at the end. */
static void test_same(const struct gpubpf_twin_image *modules, const char (*digests)[GPUBPF_IMAGE_DIGEST])
{
	uint32_t same = 0, tried = 0;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	for (unsigned k = 0; k < 2 * FEW; k++, tried++) {
		struct gpubpf_image kept = image_of(&modules[k % 2], digests[k % 2]), once = image_of(&modules[k % 2], NULL);
		struct gpubpf_twin_image a = { 0 }, b = { 0 };

		same += !make_twin(&kept, k / 2, &a, &diag) && !make_twin(&once, k / 2, &b, &diag) && is_same(&a, &b);
		gpubpf_twin_image_finish(&a);
		gpubpf_twin_image_finish(&b);
	}
	ok(same == tried, "%u of %u twins of modules that stay open are those of modules opened for each%s%s", same, tried,
	   diag.what[0] ? ": " : "", diag.what);
}

/* A kernel that only the larger module has: what was kept of one is not another's. */
static void test_other(const struct gpubpf_twin_image *modules, const char (*digests)[GPUBPF_IMAGE_DIGEST])
{
	struct gpubpf_image few = image_of(&modules[0], digests[0]), many = image_of(&modules[1], digests[1]);
	struct gpubpf_twin_image twin = { 0 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	ok(!make_twin(&many, FEW, &twin, &diag), "a kernel of the one image is there: %s", diag.what);
	gpubpf_twin_image_finish(&twin);
	ok(make_twin(&few, FEW, &twin, &diag) < 0 && strstr(diag.what, "0 kernels"), "and not in the other: %s", diag.what);
	gpubpf_twin_image_finish(&twin);
}

/* Seconds of this process that a twin takes, when each kernel of a module of n gets one; the least of three. */
static double cost_of(const struct gpubpf_twin_image *module, const void *digest, unsigned n)
{
	struct gpubpf_image image = image_of(module, digest);
	double least = 1e9;

	for (int again = 0; again < 3; again++) {
		clock_t from = clock();
		double took;

		for (unsigned k = 0; k < n; k++) {
			struct gpubpf_twin_image twin = { 0 };
			struct gpubpf_diag diag;

			gpubpf_diag_init(&diag);
			if (make_twin(&image, k, &twin, &diag) < 0)
				return -1;
			gpubpf_twin_image_finish(&twin);
		}
		took = (double)(clock() - from) / CLOCKS_PER_SEC / n;
		least = took < least ? took : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const char digests[2][GPUBPF_IMAGE_DIGEST] = { "the few", "the many" };
	struct gpubpf_twin_image modules[2] = { 0 };
	struct gpubpf_diag diag;
	double few, many;
	int err;

	gpubpf_diag_init(&diag);
	if (argc != 2 || !job_of(argv[1], false, &caps, &job))
		return 2;
	memcpy(sites, job.sites, job.nsites * sizeof(*sites));
	job.sites = sites;
	err = make_probes(&job, &probes, &diag);
	for (unsigned i = 0; !err && i < 2; i++)
		err = make_module(i ? MANY : FEW, &modules[i], &diag);
	if (err < 0 && strstr(diag.what, "no assembler")) {
		printf("1..0 # SKIP %s\n", diag.what);
		return 0;
	}
	if (!ok(!err, "modules of %u and of %u kernels are made: %s", FEW, MANY, diag.what))
		return done();
	test_same(modules, digests);
	test_other(modules, digests);
	few = cost_of(&modules[0], digests[0], FEW);
	many = cost_of(&modules[1], digests[1], MANY);
	ok(few > 0 && many > 0 && many < GROWS_BY * few, "a twin of %u kernels takes %.0f us, of %u kernels %.0f us", FEW,
	   few * 1e6, MANY, many * 1e6);
	for (unsigned i = 0; i < 2; i++)
		gpubpf_twin_image_finish(&modules[i]);
	gpubpf_twin_image_finish(&probes);
	return done();
}
