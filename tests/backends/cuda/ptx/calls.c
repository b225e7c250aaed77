/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls CASES OBJECT: lists and probes the functions that the kernel "kernel" calls, in each file of CASES/calls:
 *   // calls NAME(N)... functions that the kernel calls, in any order, with their number of parameters
 *   // recurses one of these functions calls itself
 *   // refused WHY the reason that the worker reports for a function of the list
 *   // returns N number of places with a probe of returns
 * cuda_inject() makes a twin with the probes below, at the first instruction and at the returns of each function. The
 * worker makes a twin with the programs of OBJECT, which read each function's name, first argument and result. ptxas
 * assembles both twins.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/ptx/passes/splice.h"
#include "tests/backends/cuda/case.h"
#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/session/twins/called_functions.h"
#include "core/worker/job.h"
#include "maps/maps.h"
#include "tests/tap.h"

#define MARK "// the call probe"
#define RETURN_MARK "// the return probe"
#define MAX_FUNCTIONS 16

static const char prelude[] = ".visible .global .align 8 .u64 gpubpf_test_count;\n";
static char body[] = MARK "\nred.global.add.u64 [gpubpf_test_count], 1;";
static char return_body[] = RETURN_MARK "\nred.global.add.u64 [gpubpf_test_count], " CUDA_RESULT ";";
static const struct gpubpf_device_caps caps = {
	.name = "test", .backend = "cuda", .arch = "sm_100",
	.bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS, .clock = GPUBPF_CLOCK_GLOBALTIMER,
	.compute_units = 132, .warp_size = 32, .address_bits = 64,
};

/* one case: a file of CASES/calls, with the kernels and functions that the worker lists */
struct tried {
	const char *name;
	struct gpubpf_image image;
	struct gpubpf_kernel_info *infos;
	uint32_t n;
	const struct gpubpf_kernel_info *function[MAX_FUNCTIONS]; /* functions that the kernel calls */
	uint32_t nfunctions;
	bool recurses;
	char returns[16];
};

static struct gpubpf_worker *worker;

static void assemble(const char *name, const char *how, const char *text, size_t size)
{
	static const int sms[] = { 75, 80, 90, 100 };

	for (size_t i = 0; i < sizeof(sms) / sizeof(*sms); i++) {
		int taken = assembles(text, size, sms[i]);

		if (taken < 0)
			skip(name, "no ptxas here; GPUBPF_TEST_PTXAS names one");
		else
			ok(taken, "%s, %s: ptxas takes the twin for sm_%d", name, how, sms[i]);
	}
}

/* ---- listed kernels and functions ---- */

static bool listed(struct tried *t, struct gpubpf_diag *diag)
{
	const struct gpubpf_kernel_info *kernel = NULL;
	bool *calls;

	if (gpubpf_worker_inspect(worker, "ptx", &t->image, &caps, &t->infos, &t->n, diag) < 0)
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(t->infos[i].name, "kernel"))
			kernel = &t->infos[i];
	calls = kernel ? gpubpf_calls_find(t->infos, t->n, kernel) : NULL;
	for (uint32_t i = 0; calls && i < t->n && t->nfunctions < MAX_FUNCTIONS; i++)
		if (calls[i])
			t->function[t->nfunctions++] = &t->infos[i];
	t->recurses = calls && gpubpf_calls_is_recursive(t->infos, t->n, calls);
	free(calls);
	return kernel;
}

static void check_list(const struct tried *t, const char *expected)
{
	char got[512] = "";
	uint32_t words = 0;
	bool right = true;

	for (const char *at = expected; *at; at++)
		words += *at == ')';
	for (uint32_t i = 0; i < t->nfunctions; i++) {
		const struct gpubpf_kernel_info *f = t->function[i];
		char word[300];

		snprintf(word, sizeof(word), " %s(%u)", f->name, f->nparams);
		right &= strstr(expected, word) && (f->flags & GPUBPF_KINFO_FUNCTION);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s", word);
	}
	if (!ok(right && words == t->nfunctions, "%s calls%s", t->name, expected))
		note("%s", got);
}

/* ---- twins ---- */

/*
 * Checks that each called function contains one call probe and at least one return probe, and that no other code
 * contains any.
 */
static void check_marks(const struct tried *t, const struct cuda_twin *twin)
{
	struct gpubpf_diag diag;
	struct ptx_module m;
	uint32_t returns = 0;
	bool right = true;

	gpubpf_diag_init(&diag);
	if (!ok(!ptx_parse(twin->text, twin->size, &m, &diag), "%s: the twin is PTX", t->name))
		return;
	for (uint32_t i = 0; i < t->nfunctions; i++) {
		uint32_t node = ptx_find_function(&m, t->function[i]->name);
		const char *from = node == PTX_NONE ? "" : ptx_token_text(&m, m.nodes[node].name);
		const char *end = node == PTX_NONE ? from : ptx_token_text(&m, m.nodes[node].end - 1);

		right &= count(from, end - from, MARK) == 1;
		returns += count(from, end - from, RETURN_MARK);
		right &= count(from, end - from, RETURN_MARK) > 0;
	}
	ok(right && count(twin->text, twin->size, MARK) == t->nfunctions &&
	   count(twin->text, twin->size, RETURN_MARK) == returns, "%s: probes in each function, none elsewhere", t->name);
	if (t->returns[0])
		ok(returns == (uint32_t)atoi(t->returns), "%s: return probes: %s, here %u", t->name, t->returns, returns);
	ptx_finish(&m);
}

/* Describes sites at the top and at the returns of each called function, and inserts them at all listed places. */
static void make_sites(const struct tried *t, struct gpubpf_lower_job *job, struct gpubpf_site_desc sites[2 * MAX_FUNCTIONS])
{
	static const uint32_t progs[] = { 0, 1 };

	job->sites = sites;
	job->nsites = 2 * t->nfunctions;
	for (uint32_t i = 0; i < job->nsites; i++) {
		const struct gpubpf_kernel_info *f = t->function[i / 2];

		sites[i] = (struct gpubpf_site_desc){ .site = i % 2 ? GPUBPF_SITE_CALL_EXIT : GPUBPF_SITE_CALL,
						      .kernel = "kernel", .kernel_id = 1, .params = f->params,
						      .nparams = f->nparams, .progs = &progs[i % 2], .nprogs = 1 };
		memcpy(sites[i].function, f->name, sizeof(sites[i].function));
	}
	insert_everywhere(job, t->infos, t->n);
}

static void inject_directly(const struct tried *t, const struct gpubpf_lower_job *job)
{
	struct gpubpf_insertion other = { .place = { .kind = GPUBPF_SITE_CALL, .function = "unused" } };
	struct gpubpf_lower_job unused = *job;
	struct cuda_probe probes[2 * MAX_FUNCTIONS];
	struct gpubpf_diag diag;
	struct cuda_twin twin;
	struct ptx_module m;
	int err;

	for (uint32_t i = 0; i < 2 * t->nfunctions; i++)
		probes[i] = i % 2 ? (struct cuda_probe){ return_body, strlen(return_body), .reads_result = true } :
				    (struct cuda_probe){ body, strlen(body) };
	gpubpf_diag_init(&diag);
	if (ptx_parse(t->image.data, t->image.size, &m, &diag) < 0)
		abort();
	err = cuda_inject(&m, job, &(struct cuda_probes){ probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag);
	if (ok(!err, "%s has a twin", t->name)) {
		check_marks(t, &twin);
		assemble(t->name, "by hand", twin.text, twin.size);
		cuda_twin_finish(&twin);
	} else {
		note("%s", diag.what);
	}
	unused.insertions = &other;
	unused.ninsertions = 1;
	gpubpf_diag_init(&diag);
	err = cuda_inject(&m, &unused, &(struct cuda_probes){ probes, NULL, prelude, strlen(prelude), 700 }, &twin, &diag);
	ok(err < 0 && strstr(diag.what, "not found again in the kernel's code"), "%s: a function that it does not call is refused", t->name);
	ptx_finish(&m);
}

static void inject_by_worker(const struct tried *t, const struct gpubpf_lower_job *job)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true };
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = gpubpf_worker_inject(worker, "ptx", &t->image, job, &opts, &twin, &diag);
	if (!ok(!err && twin.npieces == 1 && twin.ntwins == 1, "%s: the worker makes the twin", t->name)) {
		note("%s", diag.what);
		return;
	}
	assemble(t->name, "by the worker", twin.piece[0].blob.data, twin.piece[0].blob.size);
	gpubpf_twin_image_finish(&twin);
}

static void try_case(const char *path, struct gpubpf_lower_job job)
{
	struct gpubpf_site_desc sites[2 * MAX_FUNCTIONS];
	struct tried t = { .name = base_name(path) };
	char expected[256], refused[256];
	struct gpubpf_diag diag;
	size_t size;
	char *text = read_file(path, &size);

	expect_line(text, "// calls", expected, sizeof(expected));
	expect_line(text, "// refused ", refused, sizeof(refused));
	expect_line(text, "// returns ", t.returns, sizeof(t.returns));
	t.image = (struct gpubpf_image){ .data = text, .size = size, .kind = GPUBPF_IMAGE_PTX, .options = "", .cwd = "" };
	gpubpf_diag_init(&diag);
	if (ok(listed(&t, &diag), "%s is read", t.name)) {
		check_list(&t, expected);
		ok(t.recurses == !!strstr(text, "// recurses"), "%s: it recurses, or not", t.name);
		if (refused[0]) {
			ok(t.nfunctions == 1 && strstr(t.function[0]->reason, refused), "%s: %s", t.name, refused);
		} else if (t.nfunctions) {
			make_sites(&t, &job, sites);
			inject_directly(&t, &job);
			inject_by_worker(&t, &job);
		}
	} else {
		note("%s", diag.what);
	}
	free(t.infos);
	free(text);
}

/* A function's argument may differ between lanes, unlike a kernel's parameter. */
static void check_facts(const struct gpubpf_unit *unit)
{
	const struct gpubpf_prog *p = unit->progs;
	bool fresh = true, same = false;

	for (uint32_t i = 0; i < p->ninsns; i++) {
		const struct gpubpf_insn_facts *f = &p->facts->insn[i];

		fresh = fresh && !(f->mem.spaces == GPUBPF_SPACE_CTX && f->mem.off_min == offsetof(struct gpubpf_ctx, arg) &&
				   f->flags & GPUBPF_FACT_WARP_UNIFORM);
		same |= f->mem.spaces == GPUBPF_SPACE_CTX && f->flags & GPUBPF_FACT_BLOCK_UNIFORM;
		fresh &= !(f->flags & GPUBPF_FACT_SAME_ADDRESS && f->mem.map >= 0 &&
			   !strcmp(unit->maps[f->mem.map].name, "arguments"));
	}
	ok(fresh && same, "an argument differs from lane to lane, the function's name does not");
}

static bool make_job(const char *object, struct gpubpf_lower_job *job)
{
	static struct gpubpf_layout layout;
	struct gpubpf_load_opts load = { .npaths = 1, .paths = &object };
	struct gpubpf_verify_opts how = { 0 };
	struct gpubpf_layout_opts place = { .replicas = 132, .threads = 1 << 16 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_load(&load, &loaded, &diag) < 0 || loaded->unit.nprogs != 2 ||
	    gpubpf_verify(&loaded->unit, &loaded->unit.progs[0], &how, &diag) < 0 ||
	    gpubpf_verify(&loaded->unit, &loaded->unit.progs[1], &how, &diag) < 0) {
		note("%s", diag.what);
		return false;
	}
	check_facts(&loaded->unit);
	for (uint32_t i = 0; i < loaded->unit.nmaps; i++)
		loaded->unit.progs[0].facts->map_use[i] |= loaded->unit.progs[1].facts->map_use[i];
	place.map_use = loaded->unit.progs[0].facts->map_use;
	if (gpubpf_layout_compute(&loaded->unit, &place, &layout, &diag) < 0)
		return false;
	*job = (struct gpubpf_lower_job){ .unit = &loaded->unit, .layouts = layout.maps, .layout_hash = layout.hash,
					  .caps = &caps };
	return true;
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_lower_job job;
	char pattern[512];
	glob_t found;

	if (argc != 3)
		return 2;
	if (!ok(make_job(argv[2], &job), "%s is verified", base_name(argv[2])) ||
	    !ok(!gpubpf_worker_create(&how, &worker), "the worker is there"))
		return done();
	snprintf(pattern, sizeof(pattern), "%s/calls/*.ptx", argv[1]);
	if (!ok(!glob(pattern, 0, NULL, &found), "there are cases"))
		return done();
	for (size_t i = 0; i < found.gl_pathc; i++)
		try_case(found.gl_pathv[i], job);
	globfree(&found);
	gpubpf_worker_destroy(worker);
	ran("ptx", "call");
	ran("ptx", "call_exit");
	return done();
}
