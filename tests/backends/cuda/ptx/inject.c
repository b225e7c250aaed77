/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject CASES OBJECT: makes twins of the kernels of CASES/kernels; the first lines of each state the expectations:
 *   // probes N       places with the exit probe; // binds NAME...: variables that the twin binds, in any order
 *   // without TEXT   the twin holds TEXT once only; // refused WHY    the reason contains these words
 *   // places KIND:LINE...   places that the worker lists in the kernel, in order
 *   // around GUARD...   guards of the branches around guarded exits, in order
 * cuda_inject() inserts a probe of this file, and the compile worker inserts the program of OBJECT. ptxas
 * (GPUBPF_TEST_PTXAS, or an installed one) assembles the twins.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/ptx/passes/slice.h"
#include "backends/cuda/ptx/passes/probe.h"
#include "backends/cuda/ptx/passes/splice.h"
#include "tests/backends/cuda/case.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "core/worker/job.h"
#include "tests/tap.h"

#define MARK "// the exit probe"

static const char prelude[] = ".visible .global .align 8 .u64 gpubpf_test_count;\n";
static struct cuda_probe hand_made_probes[] = { /* for the job's sites 0 (entry) and 1 (exit) */
	{ .body = ".reg .b32 %probe;\nmov.u32 %probe, %laneid;" },
	{ .body = MARK "\nred.global.add.u64 [gpubpf_test_count], 1;" },
};
static struct gpubpf_worker *worker;
static const struct gpubpf_device_caps caps = {
	.backend = "cuda", .arch = "sm_100", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};

struct expected {
	char probes[16], binds[256], without[64], refused[256], places[256], around[64];
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

static void check_guards(const char *name, const struct cuda_twin *twin, const char *expected)
{
	static const char jump[] = " bra $gpubpf_skip_";
	char got[64] = "";

	for (const char *at = strstr(twin->text, jump), *guard; at; at = strstr(at + 1, jump)) {
		for (guard = at; *guard != '@'; guard--)
			;
		snprintf(got + strlen(got), sizeof(got) - strlen(got), " %.*s", (int)(at - guard - 1), guard + 1);
	}
	if (!ok(!strcmp(got, expected), "%s: lanes jump around exits on:%s", name, expected))
		note("%s", got);
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
	if (expected->around[0])
		check_guards(name, twin, expected->around);
	assemble(name, twin->text, twin->size);
}

/*
 * Lets the worker insert a verified program into the same image. Expects a twin, or a refusal with the expected reason.
 */
static void inject_by_worker(const char *name, const char *text, size_t size, struct gpubpf_lower_job *job,
			     const struct expected *expected)
{
	struct gpubpf_image image = { .data = text, .size = size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "" };
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true };
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;
	char label[256];
	int err;

	gpubpf_diag_init(&diag);
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

/* Turns the places that the worker lists in the image into the job's insertions. */
static void list_places(const char *name, const char *text, size_t size, struct gpubpf_lower_job *job,
			const char *expected)
{
	struct gpubpf_image image = { .data = text, .size = size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "" };
	static struct gpubpf_kernel_info *infos; /* static, because the job keeps pointers to names in it */
	struct gpubpf_diag diag;
	char got[256] = "";
	uint32_t n;

	free(infos);
	infos = NULL;
	gpubpf_diag_init(&diag);
	if (!ok(!gpubpf_worker_inspect(worker, "ptx", &image, &caps, &infos, &n, &diag), "%s is listed", name))
		return;
	insert_everywhere(job, infos, n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; !strcmp(infos[i].name, "kernel") && k < infos[i].nplaces; k++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %s:%u",
				 gpubpf_place_kind(infos[i].places[k].kind)->name, infos[i].places[k].line);
	if (expected[0])
		ok(!strcmp(got, expected), "%s: places:%s", name, got);
}

/* Inserts a probe only at the last of several exits, and then at an exit number that the kernel does not have. */
static void test_single_exit(const char *name, const struct ptx_module *m, const struct gpubpf_lower_job *job)
{
	struct gpubpf_insertion one = job->insertions[job->ninsertions - 1];
	struct gpubpf_lower_job some = *job;
	struct gpubpf_diag diag;
	struct cuda_twin twin;

	if (one.place.kind != GPUBPF_SITE_EXIT || !one.place.id)
		return;
	some.insertions = &one;
	some.ninsertions = 1;
	gpubpf_diag_init(&diag);
	if (ok(!cuda_inject(m, &some, &(struct cuda_probes){ hand_made_probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag), "%s has a twin for one exit",
	       name)) {
		ok(count(twin.text, twin.size, MARK) == 1 && !count(twin.text, twin.size, "mov.u32 %probe, %laneid;"),
		   "%s: the probe stands there alone", name);
		cuda_twin_finish(&twin);
	}
	one.place.id += 1000;
	gpubpf_diag_init(&diag);
	ok(cuda_inject(m, &some, &(struct cuda_probes){ hand_made_probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag) < 0 &&
	   strstr(diag.what, "not found again in the kernel's code"), "%s: no twin for a place that it has not: %s", name, diag.what);
}

/* The twin of the module's extracted part must equal the twin of the whole module. */
static void test_extracted_part(const char *name, const struct ptx_module *m, const struct gpubpf_lower_job *job, const struct cuda_twin *whole,
				const char *why)
{
	struct cuda_twin twin = { 0 };
	struct gpubpf_diag diag;
	struct ptx_module part;
	struct ptx_top top;
	char *text;
	int err;

	if (ptx_top_init(&top, m) < 0)
		abort();
	gpubpf_diag_init(&diag);
	if (!whole && strstr(why, "no kernel of that name")) {
		ok(ptx_slice(&top, "kernel", &text, &part) == -ENOENT, "%s: there is no part of what it has not", name);
	} else if (ok(!ptx_slice(&top, "kernel", &text, &part), "%s: its part is read as in the module", name)) {
		err = cuda_inject(&part, job, &(struct cuda_probes){ hand_made_probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag);
		if (whole)
			ok(!err && are_alike(twin.text, twin.size, whole->text, whole->size), "%s: the part's twin is the same", name);
		else
			ok(err < 0 && !strcmp(diag.what, why), "%s: and refused alike", name);
		cuda_twin_finish(&twin);
		ptx_finish(&part);
		free(text);
	}
	ptx_top_finish(&top);
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
	expect_line(text, "// places", expected.places, sizeof(expected.places));
	expect_line(text, "// around", expected.around, sizeof(expected.around));
	list_places(name, text, size, job, expected.places);
	gpubpf_diag_init(&diag);
	if (!ok(!ptx_parse(text, size, &m, &diag), "%s is read", name))
		return;
	err = cuda_inject(&m, job, &(struct cuda_probes){ hand_made_probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag);
	if (expected.refused[0]) {
		if (!ok(err < 0 && strstr(diag.what, expected.refused), "%s: %s", name, expected.refused))
			note("%s", err < 0 ? diag.what : "it was taken");
	} else if (ok(!err, "%s has a twin", name)) {
		check_twin(name, &twin, &expected);
		test_single_exit(name, &m, job);
	} else {
		note("%s", diag.what);
	}
	test_extracted_part(name, &m, job, err ? NULL : &twin, diag.what);
	if (!err)
		cuda_twin_finish(&twin);
	ptx_finish(&m);
	inject_by_worker(name, text, size, job, &expected);
	free(text);
}

/*
 * Looks up functions by the short form that gpubpf uses if a name is too long. The shortest tested name exceeds the
 * limit by one byte.
 */
static void try_long_names(void)
{
	for (size_t len = GPUBPF_SHORT_NAME; len <= GPUBPF_SHORT_NAME + 30; len += 15) {
		char name[300] = "", shown[GPUBPF_NAME_SIZE], text[400], *cut;
		struct ptx_module m, part;
		struct gpubpf_diag diag;
		struct ptx_top top;

		memset(name, 'k', len);
		gpubpf_name_short(name, len, shown);
		snprintf(text, sizeof(text), ".version 7.4\n.target sm_75\n.visible .entry other() { ret; }\n.visible .entry %s() { ret; }\n", name);
		gpubpf_diag_init(&diag);
		if (ptx_parse(text, strlen(text), &m, &diag) < 0 || ptx_top_init(&top, &m) < 0)
			abort();
		ok(ptx_find_function(&m, shown) != PTX_NONE, "a name of %zu bytes is found by its short form", len);
		if (ok(!ptx_slice(&top, shown, &cut, &part), "and in its part")) {
			ok(ptx_find_function(&part, shown) != PTX_NONE && ptx_find_function(&part, "other") == PTX_NONE, "which has it alone");
			ptx_finish(&part);
			free(cut);
		}
		ptx_top_finish(&top);
		ptx_finish(&m);
	}
}

/* -- probes with divergent lanes -- */

static const char loops[] =
	".version 7.4\n.target sm_75\n.address_size 64\n"
	".visible .entry again()\n{\n.reg .pred %p;\n$a:\nsetp.eq.u32 %p, 1, 2;\n@%p bra $a;\nret;\n}\n"
	".visible .entry forward()\n{\n.reg .pred %p;\nsetp.eq.u32 %p, 1, 2;\n@%p bra $a;\n$a:\nret;\n}\n"
	".func f()\n{\nret;\n}\n.visible .entry calls()\n{\ncall f;\nret;\n}\n";

static void try_loops(void)
{
	static const struct { const char *name; bool parts; } entries[] = { { "again", true }, { "forward", false }, { "calls", true } };
	const struct gpubpf_site_registers none = { 0 };
	struct cuda_probe probe;
	struct gpubpf_diag diag;
	struct ptx_module m;

	gpubpf_diag_init(&diag);
	if (!ok(!ptx_parse(loops, strlen(loops), &m, &diag), "loops are read"))
		return;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		memset(&probe, 0, sizeof(probe));
		ok(!cuda_probe_extract(&m, &none, entries[i].name, &m, ptx_find_function(&m, entries[i].name), &probe, &diag) &&
		   probe.may_diverge == entries[i].parts, "a probe that %s%s", entries[i].name,
		   entries[i].parts ? " may part lanes" : " does not");
		free(probe.body);
	}
	ptx_finish(&m);
}

/*
 * Probes whose lanes may diverge. The warp must reconverge after the entry probe, but not after the exit probe, where
 * the lanes end.
 */
static void try_meeting(const char *path, struct gpubpf_lower_job *job)
{
	static const char meets[] = "bar.warp.sync %gpubpf_here;";
	struct cuda_probe probes[] = { hand_made_probes[0], hand_made_probes[1] };
	struct cuda_twin twin;
	struct gpubpf_diag diag;
	struct ptx_module m;
	const char *at;
	size_t size;
	char *text = read_file(path, &size);

	probes[0].may_diverge = probes[1].may_diverge = true;
	list_places("meets", text, size, job, "");
	gpubpf_diag_init(&diag);
	if (ptx_parse(text, size, &m, &diag) < 0)
		abort();
	if (ok(!cuda_inject(&m, job, &(struct cuda_probes){ probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag), "a twin whose probes part lanes")) {
		ok(count(twin.text, twin.size, meets) == 1 && (at = strstr(twin.text, meets)) &&
		   strstr(twin.text, "mov.u32 %probe, %laneid;") < at && at < strstr(twin.text, MARK),
		   "they meet behind the entry's probe alone");
		assemble("parted", twin.text, twin.size);
		probes[0].ends_thread = true;
		cuda_twin_finish(&twin);
		ok(!cuda_inject(&m, job, &(struct cuda_probes){ probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag) && !count(twin.text, twin.size, meets),
		   "nobody waits for a thread that may have ended");
		cuda_twin_finish(&twin);
	}
	ptx_finish(&m);
	free(text);
}

/*
 * With a register limit for the launch, neither the twin nor the probes for machine code may use more registers than
 * the limit.
 */
static void try_few(const char *path, struct gpubpf_lower_job *job)
{
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_lower_job few;
	struct gpubpf_blob probes;
	struct cuda_twin twin;
	struct gpubpf_diag diag;
	struct ptx_module m;
	size_t size;
	char *text = read_file(path, &size);

	list_places("few", text, size, job, "");
	few = *job;
	few.registers = 32;
	gpubpf_diag_init(&diag);
	if (ptx_parse(text, size, &m, &diag) < 0)
		abort();
	if (ok(!cuda_inject(&m, &few, &(struct cuda_probes){ hand_made_probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag), "a twin of 32 registers")) {
		ok(count(twin.text, twin.size, ".maxnreg 32\n") == 1, "it says so, once");
		assemble("few", twin.text, twin.size);
		cuda_twin_finish(&twin);
	}
	if (ok(!gpubpf_worker_emit(worker, "sass", &few, &opts, &probes, &diag), "probes for machine code")) {
		ok(count(probes.data, probes.size, ".entry gpubpf_inline_") == count(probes.data, probes.size, ".maxnreg 28"),
		   "each leaves four of them to what the twin has besides");
		free((void *)probes.data);
	}
	ptx_finish(&m);
	free(text);
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_lower_job job;
	char pattern[512];
	glob_t found;

	if (argc != 3)
		return 2;
	for (size_t i = 0; i < sizeof(hand_made_probes) / sizeof(*hand_made_probes); i++)
		hand_made_probes[i].body_size = strlen(hand_made_probes[i].body);
	if (gpubpf_worker_create(&how, &worker) < 0)
		abort();
	if (!ok(job_of(argv[2], true, &caps, &job), "%s is verified", base_name(argv[2])))
		return done();
	snprintf(pattern, sizeof(pattern), "%s/kernels/*.ptx", argv[1]);
	if (!ok(!glob(pattern, 0, NULL, &found), "there are kernels"))
		return done();
	for (size_t i = 0; i < found.gl_pathc; i++)
		try_kernel(found.gl_pathv[i], &job);
	globfree(&found);
	try_loops();
	try_long_names();
	snprintf(pattern, sizeof(pattern), "%s/kernels/early.ptx", argv[1]);
	try_meeting(pattern, &job);
	try_few(pattern, &job);
	ran("ptx", "entry");
	ran("ptx", "exit");
	gpubpf_worker_destroy(worker);
	return done();
}
