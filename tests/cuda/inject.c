/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject CASES OBJECT: twins of the kernels of CASES/kernels, each with what its first lines expect:
 *   // probes N       places at which the exit probe stands; // binds NAME...: variables bound, in any order
 *   // without TEXT   the twin holds it here alone; // refused WHY    the reason holds these words
 * Made with a probe of the test by cuda_inject(), and with the program of OBJECT by the compile worker.
 * ptxas (GPUBPF_TEST_PTXAS, or where it is found) assembles what came out.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/ptx/splice.h"
#include "case.h"
#include "core/diag.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "maps/maps.h"
#include "tests/tap.h"

#define MARK "// the exit probe"

static const char prelude[] = ".visible .global .align 8 .u64 gpubpf_test_count;\n";
static struct cuda_probe entry = { .body = ".reg .b32 %probe;\nmov.u32 %probe, %laneid;" };
static struct cuda_probe exit_probe = { .body = MARK "\nred.global.add.u64 [gpubpf_test_count], 1;" };
static const struct cuda_sites sites = { .entry = &entry, .exit = &exit_probe };
static const struct gpubpf_device_caps caps = {
	.backend = "cuda", .arch = "sm_100", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};

struct expected {
	char probes[16], binds[256], without[64], refused[256];
};

static void assemble(const char *name, const char *text, size_t size)
{
	static const int sms[] = { 75, 80, 90, 100 };

	if (assembles(text, size, sms[0]) < 0) {
		skip(name, "no ptxas here; GPUBPF_TEST_PTXAS names one");
		return;
	}
	for (size_t i = 0; i < sizeof(sms) / sizeof(*sms); i++)
		ok(assembles(text, size, sms[i]) == 1, "%s: ptxas takes the twin for sm_%d", name, sms[i]);
}

static uint32_t count_words(const char *text)
{
	uint32_t n = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		text += strcspn(text, " ");
		n++;
	}
	return n;
}

static void check_twin(const char *name, const struct cuda_twin *twin, const struct expected *expected)
{
	uint32_t found = 0, probes = count(twin->text, twin->size, MARK);

	if (!ok(probes == (uint32_t)atoi(expected->probes), "%s: exit probes: %s", name, expected->probes))
		note("%u", probes);
	ok(count(twin->text, twin->size, "mov.u32 %probe, %laneid;") == 1, "%s: one entry probe", name);
	ok(count(twin->text, twin->size, ".entry") == 1 && count(twin->text, twin->size, "gpubpf_twin_kernel") == 1,
	   "%s: the twin is the one kernel", name);
	for (uint32_t i = 0; i < twin->nbindings; i++)
		found += strstr(expected->binds, twin->bindings[i]) != NULL;
	ok(found == twin->nbindings && found == count_words(expected->binds), "%s: bound:%s", name, expected->binds);
	if (expected->without[0])
		ok(count(twin->text, twin->size, expected->without) == 1, "%s: without %s", name, expected->without);
	assemble(name, twin->text, twin->size);
}

/* The same image through the worker, with a verified program; the twin's text or a reason. */
static void by_worker(const char *name, const char *text, size_t size, struct gpubpf_lower_job *job,
		      const struct expected *expected)
{
	struct gpubpf_image image = { .data = text, .size = size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "" };
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true };
	static struct gpubpf_worker *worker;
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;
	char label[256];
	int err;

	gpubpf_diag_init(&diag);
	if (!worker && gpubpf_worker_create(&how, &worker) < 0)
		abort();
	err = gpubpf_worker_inject(worker, "ptx", &image, job, &opts, &twin, &diag);
	if (expected->refused[0]) {
		if (!ok(err < 0 && strstr(diag.what, expected->refused), "%s, by the worker: %s", name, expected->refused))
			note("%s", err < 0 ? diag.what : "it was taken");
		return;
	}
	if (!ok(!err && twin.npieces == 1 && twin.ntwins == 1, "%s: the worker makes the twin", name)) {
		note("%s", diag.what);
		return;
	}
	ok(count(twin.piece[0].blob.data, twin.piece[0].blob.size, "//gpubpf-bind ") == count_words(expected->binds),
	   "%s: the twin names its bindings", name);
	snprintf(label, sizeof(label), "%s, by the worker", name);
	assemble(label, twin.piece[0].blob.data, twin.piece[0].blob.size);
	gpubpf_twin_image_finish(&twin);
}

static void try_kernel(const char *path, struct gpubpf_lower_job *job)
{
	const char *name = base_name(path);
	struct expected expected;
	struct ptx_module m;
	struct cuda_twin twin;
	struct gpubpf_diag diag;
	size_t size;
	char *text = read_file(path, &size);
	int err;

	expect_line(text, "// probes ", expected.probes, sizeof(expected.probes));
	expect_line(text, "// binds", expected.binds, sizeof(expected.binds));
	expect_line(text, "// without ", expected.without, sizeof(expected.without));
	expect_line(text, "// refused ", expected.refused, sizeof(expected.refused));
	gpubpf_diag_init(&diag);
	if (!ok(!ptx_parse(text, size, &m, &diag), "%s is read", name))
		return;
	err = cuda_inject(&m, "kernel", &sites, prelude, strlen(prelude), 700, &twin, &diag);
	if (expected.refused[0]) {
		if (!ok(err < 0 && strstr(diag.what, expected.refused), "%s: %s", name, expected.refused))
			note("%s", err < 0 ? diag.what : "it was taken");
	} else if (ok(!err, "%s has a twin", name)) {
		check_twin(name, &twin, &expected);
	} else {
		note("%s", diag.what);
	}
	if (!err)
		cuda_twin_finish(&twin);
	ptx_finish(&m);
	by_worker(name, text, size, job, &expected);
	free(text);
}

/* The object's program at the entry and the exit of "kernel". */
static bool make_job(const char *object, struct gpubpf_lower_job *job)
{
	static struct gpubpf_site_desc sites[2];
	static const uint32_t progs[] = { 0 };
	static struct gpubpf_layout layout;
	struct gpubpf_load_opts load = { .npaths = 1, .all_gpu = true, .paths = &object };
	struct gpubpf_verify_opts how = { .allow_exit_thread = true };
	struct gpubpf_layout_opts place = { .replicas = 132, .threads = 1 << 16 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&load, &loaded, &diag) < 0 ||
	    gpubpf_verify(&loaded->unit, loaded->unit.progs, &how, &diag) < 0) {
		note("%s", diag.what);
		return false;
	}
	place.map_use = loaded->unit.progs->facts->map_use;
	if (gpubpf_layout_compute(&loaded->unit, &place, &layout, &diag) < 0)
		return false;
	for (int i = 0; i < 2; i++)
		sites[i] = (struct gpubpf_site_desc){ .site = i ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY, .kernel = "kernel",
						      .kernel_id = 1, .progs = progs, .nprogs = 1 };
	*job = (struct gpubpf_lower_job){ .unit = &loaded->unit, .layouts = layout.maps, .layout_hash = layout.hash,
					  .sites = sites, .nsites = 2, .caps = &caps };
	return true;
}

int main(int argc, char **argv)
{
	struct gpubpf_lower_job job;
	char pattern[512];
	glob_t found;

	if (argc != 3)
		return 2;
	entry.body_size = strlen(entry.body);
	exit_probe.body_size = strlen(exit_probe.body);
	if (!ok(make_job(argv[2], &job), "%s is verified", base_name(argv[2])))
		return done();
	snprintf(pattern, sizeof(pattern), "%s/kernels/*.ptx", argv[1]);
	if (!ok(!glob(pattern, 0, NULL, &found), "there are kernels"))
		return done();
	for (size_t i = 0; i < found.gl_pathc; i++)
		try_kernel(found.gl_pathv[i], &job);
	globfree(&found);
	return done();
}
