/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-wrap [-d] [-s|-i CLANG] CLREAD BUILD FOLDER CASE...: gpubpf-clread reads and wraps each case, and gpubpf-build
 * builds it with counting sites in OpenCL C. With -s the sites are SPIR-V that clang compiles from OpenCL C. With -i
 * the case is SPIR-V, too. The test loads the binary and runs it. Each lane must be counted exactly once at the entry
 * and once at the exit. The sites must receive the arguments of the kernel. The kernels' output must be bit-identical
 * to the output without sites.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/spirv/wire/parts.h"
#include "ask.h"
#include "case.h"
#include "core/model/diag.h"
#include "core/model/prog.h"
#include "core/worker/job.h"
#include "device.h"
#include "il.h"
#include "tests/cases.h"
#include "tests/tap.h"

#define SLOT 256 /* 64-bit words of the arena per site: count, launch, pid, kernel, device, -, -, -, arg[32], bytes */

static struct gpubpf_worker *clread, *build;
static bool probe_il, program_il;      /* sites are SPIR-V (-s, -i); case is SPIR-V (-i) */
static struct device dev;

/* one case that is being run */
struct run {
	struct case_file file;
	struct gpubpf_pool pool;
	const char *name;
	struct gpubpf_kernel_info *kernels;
	uint32_t nkernels;
	struct gpubpf_site_desc sites[2 * MAX_LINES];
	uint32_t nsites;
	struct gpubpf_insertions at;
	struct gpubpf_twin_image twin, binary;
	struct gpubpf_blob module;     /* the application's module, if it is SPIR-V */
	char *answer;                  /* the answer of the device's compiler to the reader's query */
};

static const uint32_t site_progs[] = { 0 };
/* a BPF program that reads every argument, and the bytes of parameters (helper 520) */
static struct gpubpf_insn insns[] = { { .kind = GPUBPF_INSN_CALL, .imm = 520 }, { .kind = GPUBPF_INSN_EXIT } };
static struct gpubpf_call_facts call = { .map = GPUBPF_NO_MAP };
static struct gpubpf_insn_facts insn_facts[] = { { .flags = GPUBPF_FACT_REACHED, .call = &call },
						 { .flags = GPUBPF_FACT_REACHED } };
static struct gpubpf_facts facts = { .insn = insn_facts, .frames = 1, .ctx_args = 0xffffffff };
static struct gpubpf_func funcs[] = { { 0, 2, "p" } };
static struct gpubpf_prog progs[] = { { .name = "p", .section = "gpu/entry/*", .site = GPUBPF_SITE_ENTRY, .insns = insns,
						.ninsns = 2, .funcs = funcs, .nfuncs = 1, .facts = &facts } };
static struct gpubpf_unit unit = { NULL, 0, progs, 1 };

static struct gpubpf_image image_of(const struct run *r, struct gpubpf_header *header)
{
	static char cwd[4096];
	struct gpubpf_image image = { r->file.text, r->file.size, GPUBPF_IMAGE_OPENCL_C, r->file.options };

	image.cwd = getcwd(cwd, sizeof(cwd));

	if (r->file.header) {
		*header = (struct gpubpf_header){ r->file.header, r->file.header_text, strlen(r->file.header_text) };
		image.headers = header;
		image.nheaders = 1;
	}
	return image;
}

static struct gpubpf_kernel_info *find(struct run *r, const char *name)
{
	for (uint32_t i = 0; i < r->nkernels; i++)
		if (strcmp(r->kernels[i].name, name) == 0)
			return &r->kernels[i];
	return NULL;
}

static void add_sites(struct run *r, struct gpubpf_kernel_info *k)
{
	for (int i = 0; i < 2; i++) {
		struct gpubpf_site_desc *s = &r->sites[r->nsites];

		*s = (struct gpubpf_site_desc){ .site = i ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY, .kernel_id = 100 + r->nsites,
						.params = k->params, .nparams = k->nparams, .progs = site_progs, .nprogs = 1 };
		snprintf(s->kernel, sizeof(s->kernel), "%s", k->name);
		if (gpubpf_insert(&r->at, r->nsites++, s->site, k) < 0)
			abort();
	}
}

/*
 * Adds kernels that are built but not run. The build must report the kernels whose wrapper the vendor's compiler
 * refuses.
 */
static void add_unrun(struct run *r)
{
	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		struct gpubpf_kernel_info *k = find(r, r->file.check[i].kernel);

		if (k && strcmp(r->file.check[i].what, "unbuildable") == 0 && !program_il)
			add_sites(r, k);
		for (uint32_t n = 0; strcmp(r->file.check[i].what, "build") == 0 && n < r->nkernels; n++)
			if (!r->kernels[n].reason[0] && r->nsites < 2 * MAX_LINES - 1)
				add_sites(r, &r->kernels[n]);
	}
}

static uint32_t check_unbuildable(const struct run *r)
{
	uint32_t expected = 0;

	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		const char *reason = NULL;

		if (strcmp(r->file.check[i].what, "unbuildable") != 0 || program_il)
			continue;
		expected++;
		for (uint32_t k = 0; k < r->binary.nrefused; k++)
			if (strcmp(r->sites[r->binary.refused[k].site].kernel, r->file.check[i].kernel) == 0)
				reason = r->binary.refused[k].reason;
		ok(reason, "%s: the vendor refuses %s: %s", r->name, r->file.check[i].kernel, reason ? reason : "no");
	}
	return expected;
}

static bool choose_sites(struct run *r)
{
	for (uint32_t i = 0; i < r->file.nruns; i++) {
		struct gpubpf_kernel_info *k = find(r, r->file.run[i].kernel);
		bool again = false;

		for (uint32_t s = 0; s < r->nsites; s++)
			again |= strcmp(r->sites[s].kernel, r->file.run[i].kernel) == 0;
		if (again)
			continue;
		if (!k || k->reason[0]) {
			note("%s: %s", r->file.run[i].kernel, k ? k->reason : "not found");
			return false;
		}
		add_sites(r, k);
	}
	add_unrun(r);
	return true;
}

/* Returns the text of the hand-written counting probe. */
static char *probe_text(const struct run *r)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "struct gpubpf_env { ulong arena, launch, pid_tgid, kernel_id; uint device, flags; ulong arg[32];"
		     " __private const uchar *arg_bytes; };\n");
	for (uint32_t i = 0; i < r->nsites; i++) {
		uint32_t bytes = 0;

		for (uint32_t p = 0; p < r->sites[i].nparams; p++)
			if (r->sites[i].params[p].bytes_off != UINT32_MAX)
				bytes = r->sites[i].params[p].bytes_off + r->sites[i].params[p].size;
		fprintf(out,
			"int gpubpf_site_%u(__private const struct gpubpf_env *env) {\n"
			"__global ulong *s = (__global ulong *)env->arena + %u;\n"
			"atomic_add((volatile __global uint *)s, 1u);\n"
			"if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0) {\n"
			"s[1] = env->launch; s[2] = env->pid_tgid; s[3] = env->kernel_id; s[4] = env->device;\n"
			"for (int i = 0; i < 32; i++) s[8 + i] = env->arg[i];\n"
			"for (uint i = 0; i < %uu; i++) ((__global uchar *)(s + 40))[i] = env->arg_bytes[i]; }\n"
			"return 0; }\n",
			i, i * SLOT, bytes);
	}
	fclose(out);
	return text;
}

static bool check_refusals(struct run *r)
{
	bool good = true;

	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		const struct case_check *c = &r->file.check[i];
		struct gpubpf_kernel_info *k = find(r, c->kernel);

		if (strcmp(c->what, "refused") == 0 && !program_il)
			good &= ok(k && strstr(k->reason, c->rest) && k->reason[0], "%s: %s is refused: %s", r->name,
				   c->kernel, k ? k->reason : "(not listed)");
		if (strcmp(c->what, "places") == 0 && !program_il) {
			char lines[64] = "";

			for (uint32_t p = 0; k && p < k->nplaces; p++)
				snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s%s:%u", p ? " " : "",
					 gpubpf_place_kind(k->places[p].kind)->name, k->places[p].line);
			good &= ok(!strcmp(lines, c->rest), "%s: %s has the places %s", r->name, c->kernel, lines);
		}
		if (strcmp(c->what, "barrier") == 0)
			good &= ok(k && (k->flags & GPUBPF_KINFO_BARRIER), "%s: %s has a barrier", r->name, c->kernel);
	}
	return good;
}

/*
 * Checks kernels that are refused only as IL. Returns whether the case has such a kernel; then nothing else is checked.
 */
static bool refused_as_il(struct run *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		const struct case_check *c = &r->file.check[i];
		struct gpubpf_kernel_info *k = find(r, c->kernel);

		if (strcmp(c->what, "refused-as-il") != 0)
			continue;
		ok(k && strstr(k->reason, c->rest), "%s: %s is refused as IL: %s", r->name, c->kernel,
		   k ? k->reason : "(not listed)");
		any = true;
	}
	return any;
}

static void list_inside(const struct gpubpf_kernel_info *k, char *out, size_t size)
{
	out[0] = 0;
	for (uint32_t p = 0; p < k->nplaces; p++)
		if (gpubpf_place_kind(k->places[p].kind)->where == GPUBPF_WHERE_INSN)
			snprintf(out + strlen(out), size - strlen(out), "%s%s:%u", *out ? " " : "",
				 gpubpf_place_kind(k->places[p].kind)->name, k->places[p].line);
}

/* Checks the places of single instructions in kernels and functions, with their lines. */
static void check_inside(struct run *r, struct gpubpf_image image)
{
	struct gpubpf_kernel_info *infos = NULL;
	struct gpubpf_diag diag;
	uint32_t n = 0;
	char lines[1024];

	image.places = GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(MEM_SHARED) | GPUBPF_SITE_BIT(MEM_LOCAL) | GPUBPF_SITE_BIT(MEM_CONST) |
		       GPUBPF_SITE_BIT(ATOMIC) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BRANCH);
	gpubpf_diag_init(&diag);
	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		const struct case_check *c = &r->file.check[i];

		if (strcmp(c->what, "inside") || program_il)
			continue;
		if (!infos && gpubpf_worker_inspect(clread, "wrap", &image, &dev.caps, &infos, &n, &diag) < 0)
			n = 0;
		lines[0] = 0;
		for (uint32_t k = 0; k < n; k++)
			if (!strcmp(infos[k].name, c->kernel))
				list_inside(&infos[k], lines, sizeof(lines));
		ok(!strcmp(lines, c->rest), "%s: in %s are %s", r->name, c->kernel, lines);
	}
	free(infos);
}

static bool read_and_wrap(struct run *r)
{
	struct gpubpf_header header;
	struct gpubpf_image image = image_of(r, &header);
	struct gpubpf_lower_job job = { .unit = &unit, .sites = r->sites, .caps = &dev.caps };
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true };
	struct gpubpf_diag diag;
	int err;

	if (!program_il && !r->answer)
		r->answer = ask_compiler(clread, build, &image, &dev.caps, &dev.caps);
	image.answer = r->answer;
	gpubpf_diag_init(&diag);
	if (program_il)
		err = il_inspect(&r->module, &r->pool, &r->kernels, &r->nkernels, &diag);
	else
		err = gpubpf_worker_inspect(clread, "wrap", &image, &dev.caps, &r->kernels, &r->nkernels,
					    &diag);
	if (!ok(err == 0, "%s: read, %u kernels %s", r->name, r->nkernels, diag.what))
		return false;
	check_refusals(r);
	check_inside(r, image);
	if (program_il && refused_as_il(r))
		return false;
	if (!ok(choose_sites(r), "%s: all kernels that run can be wrapped", r->name))
		return false;
	job.nsites = r->nsites;
	job.insertions = r->at.list;
	job.ninsertions = r->at.n;
	if (program_il)
		err = il_inject(&r->module, &job, &r->twin, &diag);
	else
		err = gpubpf_worker_inject(clread, "wrap", &image, &job, &opts, &r->twin, &diag);
	if (program_il)
		ok(il_valid(&r->twin.piece[0].blob), "%s: the twin's module is valid", r->name);
	return ok(err == 0 && r->twin.nrefused == 0 && (r->twin.npieces == 1 || !r->nsites), "%s: wrapped %s%s", r->name,
		  diag.what, r->twin.nrefused ? r->twin.refused[0].reason : "");
}

static void print_source(const struct run *r)
{
	struct gpubpf_cl_parts parts;

	if (!getenv("WRAP_SHOW") || gpubpf_cl_parts_read(r->twin.piece[0].blob.data, r->twin.piece[0].blob.size, &parts) < 0)
		return;
	for (uint32_t i = 0; i < parts.nparts; i++)
		fprintf(stderr, "%.*s\n", (int)parts.part[i].size, (const char *)parts.part[i].data);
	gpubpf_cl_parts_finish(&parts);
}

static bool build_twin(struct run *r)
{
	struct gpubpf_diag diag;
	static char log[65536];
	char *probe = probe_text(r);
	int err;

	gpubpf_diag_init(&diag);
	print_source(r);
	r->twin.piece[1].kind = probe_il ? GPUBPF_IMAGE_SPIRV : GPUBPF_IMAGE_OPENCL_C;
	r->twin.piece[1].blob = probe_il ? il_compile(probe, "") : (struct gpubpf_blob){ probe, strlen(probe) };
	r->twin.piece[1].options = "";
	r->twin.npieces = 2;
	err = gpubpf_worker_build(build, &dev.caps, &r->twin, &r->binary, log, sizeof(log), &diag);
	if (!ok(err == 0 && r->binary.nrefused == check_unbuildable(r), "%s: built %s%s", r->name, diag.what,
		r->binary.nrefused ? r->binary.refused[0].reason : "")) {
		fprintf(stderr, "%s\n", log);
		return false;
	}
	return true;
}

/* Returns the number of lanes of all runs of a kernel. *last is the index of its last run. */
static uint64_t lanes_of(const struct run *r, const char *kernel, uint64_t *last)
{
	uint64_t lanes = 0;

	for (uint32_t i = 0; i < r->file.nruns; i++) {
		const struct case_run *run = &r->file.run[i];
		uint64_t n = 1;

		if (strcmp(run->kernel, kernel) != 0)
			continue;
		for (uint32_t d = 0; d < run->dim; d++)
			n *= run->global[d];
		lanes += n;
		*last = i;
	}
	return lanes;
}

static void check_counts(const struct run *r, const uint64_t *arena)
{
	for (uint32_t i = 0; i < r->nsites; i++) {
		const uint64_t *s = arena + i * SLOT;
		uint64_t launch = 0, lanes = lanes_of(r, r->sites[i].kernel, &launch);

		if (!lanes)
			continue;
		ok(s[0] == lanes, "%s: %s site %u counts %llu of %llu lanes", r->name, r->sites[i].kernel, i,
		   (unsigned long long)s[0], (unsigned long long)lanes);
		ok(s[1] == launch && s[2] == 0x1122334455667788 && s[3] == 100 + (i & ~1u) && s[4] == 3,
		   "%s: %s site %u knows launch %llu, pid %llx, kernel %llu, device %llu", r->name, r->sites[i].kernel, i,
		   (unsigned long long)s[1], (unsigned long long)s[2], (unsigned long long)s[3], (unsigned long long)s[4]);
	}
}

static void check_values(const struct run *r, const uint64_t *arena)
{
	for (uint32_t i = 0; i < r->file.nchecks; i++) {
		const struct case_check *c = &r->file.check[i];
		const uint64_t *s = arena;
		unsigned param, site = 0;
		char want[512], got[512] = "";

		if ((strcmp(c->what, "arg") != 0 && strcmp(c->what, "bytes") != 0) ||
		    sscanf(c->rest, "%u %511s", &param, want) != 2)
			continue;
		while (site < r->nsites && strcmp(r->sites[site].kernel, c->kernel) != 0)
			site++;
		s += site * SLOT;
		if (c->what[0] == 'a')
			snprintf(got, sizeof(got), "%#llx", (unsigned long long)s[8 + param]);
		else
			for (uint32_t b = 0; b < r->sites[site].params[param].size; b++)
				sprintf(got + 2 * b, "%02x", ((unsigned char *)(s + 40))[r->sites[site].params[param].bytes_off + b]);
		ok(strcmp(want, got) == 0, "%s: %s %s %u is %s, %s expected", r->name, c->kernel, c->what, param, got, want);
	}
}

static void run_twin(struct run *r, cl_program original)
{
	uint64_t *arena = calloc(1, ARENA_SIZE);
	cl_program twin = NULL;
	struct outcome before = { 0 }, after = { 0 };
	const char *what = "";
	int err;
	cl_mem memory = clCreateBuffer(dev.context, CL_MEM_USE_HOST_PTR, ARENA_SIZE, arena, &err);

	err = err ? err : device_run(&dev, &r->file, original, NULL, &before, &what);
	if (!err)
		err = device_load(&dev, r->binary.piece[0].blob.data, r->binary.piece[0].blob.size, &twin, &what);
	if (!err)
		err = device_run(&dev, &r->file, twin, memory, &after, &what);
	if (!ok(err == 0, "%s: runs (%d of %s)", r->name, err, what))
		return;
	clEnqueueReadBuffer(dev.queue, memory, CL_TRUE, 0, ARENA_SIZE, arena, 0, NULL, NULL);
	ok(before.size == after.size && (!before.size || memcmp(before.data, after.data, before.size) == 0),
	   "%s: %zu bytes of output are the same", r->name, before.size);
	check_counts(r, arena);
	check_values(r, arena);
	clReleaseMemObject(memory);
	clReleaseProgram(twin);
	free(arena);
	free(before.data);
	free(after.data);
}

static bool make_module(struct run *r)
{
	char *options = calloc(1, 2 * strlen(r->file.options) + 1);
	bool quoted = false;

	/* escapes characters outside of quotes that the shell would interpret */
	for (const char *at = r->file.options; *at; at++) {
		quoted ^= *at == '"';
		sprintf(options + strlen(options), strchr("()#", *at) && !quoted ? "\\%c" : "%c", *at);
	}
	r->module = r->file.header ? (struct gpubpf_blob){ 0 } : il_compile(r->file.text, options);
	free(options);
	return r->module.size != 0;
}

static void run_case(const char *folder, const char *name)
{
	struct run *r = calloc(1, sizeof(*r));
	cl_program original = NULL;
	const char *why = "";

	r->name = name;
	if (case_load(folder, name, &r->pool, &r->file, &why) < 0)
		ok(false, "%s: %s", name, why);
	else if (program_il && !make_module(r))
		skip(name, "clang makes no SPIR-V of it");
	else if (program_il ? device_build_il(&dev, r->module.data, r->module.size, &original, &why) :
			      device_build(&dev, &r->file, &original, &why))
		skip(name, "the device does not take the original");
	else if (read_and_wrap(r) && r->nsites && build_twin(r))
		run_twin(r, original);
	if (original)
		clReleaseProgram(original);
	gpubpf_pool_finish(&r->pool);
	free(r->answer);
	free(r->at.list);
	free(r->kernels);
	free(r);
}

/* Selects Intel's CPU runtime. Returns false if the runtime is not installed. */
static bool use_intel(void)
{
	const char *icd = getenv("GPUBPF_TEST_INTEL");

	return icd && access(icd, R_OK) == 0 && setenv("OCL_ICD_VENDORS", icd, 1) == 0;
}

/* Parses the options. Returns the index of the first argument after them, or 0 on an error. */
static int read_options(int argc, char **argv, bool *intel)
{
	int c;

	while ((c = getopt(argc, argv, "ds:i:")) != -1) {
		if (c == '?')
			return 0;
		*intel |= c == 'd';
		if (c == 'd')
			continue;
		il_clang = optarg;
		probe_il = true;
		program_il = c == 'i';
	}
	return argc - optind >= 3 ? optind : 0;
}

static void run_all(const char *folder, char **names)
{
	for (char **name = names; *name; name++)
		run_case(folder, *name);
	if (!*names)
		run_each_case(folder, ".cl", run_case);
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts opts = { .memory = UINT64_MAX };
	const char *what = "";
	bool intel = false;
	int first = read_options(argc, argv, &intel);

	if (!first)
		return 2;
	if (intel && !use_intel()) {
		skip("wrap", "GPUBPF_TEST_INTEL names no libintelocl.so");
		return done();
	}
	if (device_open(&dev, &what) != 0) {
		skip("wrap", "no OpenCL device (%s)", what);
		return done();
	}
	opts.path = argv[first + 1];
	gpubpf_worker_create(&opts, &build);
	opts.path = argv[first];
	opts.memory = 0;
	gpubpf_worker_create(&opts, &clread);
	note("device %s, %s", dev.caps.name, dev.caps.driver);
	/* the working directory of the application, relative to which other processes, too, find the folders of -I */
	if (chdir(argv[first + 2]) == 0)
		run_all(".", argv + first + 3);
	gpubpf_worker_destroy(clread);
	gpubpf_worker_destroy(build);
	return done();
}
