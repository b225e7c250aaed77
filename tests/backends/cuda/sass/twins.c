/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins KERNELS OBJECT: nvcc compiles KERNELS (a .cu) for each architecture and optimisation level. The workers make
 * twins with the program of OBJECT at the entry and the exit, as in a session. The target's own checker checks each
 * twin before a session would use it. Then:
 * - The checker must refuse each changed twin (faults.h calls the checker).
 * - An nvdisasm (GPUBPF_TEST_NVDISASM) must print the kernel's own instructions unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/sass/analysis/code.h"
#include "backends/cuda/wire/twin_format.h"
#include "core/model/diag.h"
#include "core/worker/job.h"
#include "faults.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"

static struct gpubpf_device_caps caps = {
	.backend = "cuda", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD,
	.clock = GPUBPF_CLOCK_GLOBALTIMER, .compute_units = 132, .warp_size = 32, .address_bits = 64,
};
static struct gpubpf_worker *compile, *assemble;
static const char *source;
static bool together;              /* the lanes of the program reconverge */

#define LINKED "-O3 -rdc=true -dlink" /* compiles functions to their own sections */

static const struct build {
	const char *arch, *options;
} builds[] = {
	{ "sm_75", "-O3" }, { "sm_80", "-O3" }, { "sm_87", "-O3" }, { "sm_90", "-O3" }, { "sm_90", "-Xptxas -O0" },
	{ "sm_90", LINKED },
	{ "sm_100", "-O3" }, { "sm_120", "-O3" },
};

/* -- twins through the workers -- */

static int make_probes(struct gpubpf_lower_job *job, struct gpubpf_twin_image *cubin, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_twin_image ptx = { .piece[0].kind = GPUBPF_IMAGE_PTX, .npieces = 1 };
	char log[4096] = "";
	int err = gpubpf_worker_emit(compile, "sass", job, &opts, &ptx.piece[0].blob, diag);

	if (err < 0)
		return err;
	err = gpubpf_worker_build(assemble, &caps, &ptx, cubin, log, sizeof(log), diag);
	if (err < 0)
		note("%s", log);
	free(ptx.piece[0].blob.data);
	return err;
}

static int make_twin(struct gpubpf_lower_job *job, const struct gpubpf_twin_image *probes, const char *image, size_t size,
		     struct gpubpf_twin_image *twin, struct gpubpf_diag *diag)
{
	struct gpubpf_image app = { .data = image, .size = size, .kind = GPUBPF_IMAGE_CUBIN, .options = "", .cwd = "" };
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true, .probes = probes->piece[0].blob.data,
					   .probes_size = probes->piece[0].blob.size };

	return gpubpf_worker_inject(compile, "sass", &app, job, &opts, twin, diag);
}

/* -- comparison with the output of nvdisasm -- */

/* Returns nvdisasm's text of the kernel's instructions, without addresses and labels of lines. */
static char *disassembled(const void *cubin, size_t size, const char *kernel)
{
	const char *nvdisasm = getenv("GPUBPF_TEST_NVDISASM");
	char path[] = "/tmp/gpubpf-sass-XXXXXX", command[512];
	int fd = mkstemp(path);
	char *text;
	size_t n;

	if (fd < 0 || write(fd, cubin, size) != (ssize_t)size)
		abort();
	close(fd);
	snprintf(command, sizeof(command),
		 "'%s' -ndf -c %s | awk '/^\\.text\\.%s:/{p=1;next} /^\\/\\/---/{p=0} p && /\\/\\*[0-9a-f]+\\*\\//'"
		 " | sed 's/`([^)]*)//'",
		 nvdisasm, path, kernel);
	text = read_command(command, &n);
	unlink(path);
	return text;
}

#define MAX_FIRST_WAIT 32 /* largest index of a kernel's first wait, after the prologue that all sm_87 kernels have */

/*
 * Compares nvdisasm's text of the kernel's own code in the original and in the twin. Only exits, the code after the
 * last exit, and one of the first lines may differ.
 */
static void compare_text(const char *image, size_t size, const struct gpubpf_twin_image *twin, const char *kernel)
{
	char name[300], *was = disassembled(image, size, kernel), *is;
	uint32_t lines = 0, other = 0, meant = 0;

	snprintf(name, sizeof(name), GPUBPF_TWIN_PREFIX "%s", kernel);
	is = disassembled(twin->piece[0].blob.data, twin->piece[0].blob.size, name);

	for (char *a = was, *b = is; a && b && *a; lines++) {
		size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");

		if (na != nb || memcmp(a, b, na)) {
			other++;
			meant += (lines < MAX_FIRST_WAIT && memmem(b, nb, "BRA", 3)) || memmem(a, na, "EXIT", 4) || !strstr(a, "EXIT");
		}
		a += na + !!a[na];
		b += nb + !!b[nb];
	}
	ok(lines && other && other == meant, "%s: nvdisasm prints %u instructions as before, but %u as meant", kernel, lines,
	   other);
	free(was);
	free(is);
}

/* -- the application's variables -- */

#define ADDRESS 0x7f1234567800ull

static int resolve_address(void *arg, const char *name, uint64_t *address)
{
	uint32_t *asked = arg;

	*asked += !strcmp(name, "total") ? 1 : !strcmp(name, "table") ? 10 : 100;
	*address = ADDRESS;
	return 0;
}

static int resolve_nothing(void *arg, const char *name, uint64_t *address)
{
	return -ENOENT;
}

/* Does the twin contain the address or, if halves is true, both of its 32-bit halves? */
static bool has_address(const struct gpubpf_blob *blob, bool halves)
{
	const uint64_t address = ADDRESS;
	const uint8_t *half = (const uint8_t *)&address;

	if (!halves)
		return memmem(blob->data, blob->size, &address, sizeof(address));
	return memmem(blob->data, blob->size, half, 4) && memmem(blob->data, blob->size, half + 4, 4);
}

/*
 * The twin must request the addresses of the variables that the kernel uses. After patching, c[0x4] or the linked code
 * must contain them.
 */
static void check_variables(const struct gpubpf_twin_image *twin, const char *kernel, bool linked)
{
	const struct gpubpf_blob *blob = &twin->piece[0].blob;
	uint32_t asked = 0, expected = !strcmp(kernel, "variables") ? 11 : !strcmp(kernel, "named") ? 100 : 0;
	bool before;
	int err;

	ok(cuda_twin_names(blob->data, blob->size, "gpubpf_arena") && !cuda_twin_names(blob->data, blob->size, "gpubpf_aren"),
	   "%s: its words are known before it is loaded", kernel);
	expected += !strcmp(kernel, "pointed") ? 100 : 0;
	if (!expected) {
		ok(!cuda_twin_bind(blob->data, blob->size, resolve_nothing, NULL), "%s asks for no address", kernel);
		return;
	}
	ok(cuda_twin_bind(blob->data, blob->size, resolve_nothing, NULL) == -ENOENT, "a variable that is not there is an error");
	before = has_address(blob, linked);
	err = cuda_twin_bind(blob->data, blob->size, resolve_address, &asked);
	ok(!before && !err && asked == (linked ? 2 * expected : expected) && has_address(blob, linked),
	   "%s: its variables' addresses are asked for (%u) and stored (%d)", kernel, asked, err);
	((uint8_t *)blob->data)[blob->size - 12]++; /* the list claims one address more than it has */
	ok(cuda_twin_bind(blob->data, blob->size, resolve_address, &asked) == -EINVAL, "a broken list is refused");
}

/* -- one build -- */

static void some_exits(const struct gpubpf_lower_job *job, const struct gpubpf_twin_image *probes, const char *image,
		       size_t size, const char *kernel)
{
	struct gpubpf_lower_job some = *job;
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;

	some.ninsertions--;
	gpubpf_diag_init(&diag);
	ok(make_twin(&some, probes, image, size, &twin, &diag) < 0 && strstr(diag.what, "at each exit or at none"),
	   "%s: no twin where an exit is left out: %s", kernel, diag.what);
}

static void try_kernel(struct gpubpf_lower_job *job, const struct gpubpf_twin_image *probes, const struct build *b,
		       const char *image, size_t size, const struct gpubpf_kernel_info *info)
{
	struct gpubpf_site_desc *sites = (struct gpubpf_site_desc *)job->sites;
	struct gpubpf_twin_image twin;
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	for (int i = 0; i < 2; i++)
		snprintf(sites[i].kernel, sizeof(sites[i].kernel), "%s", info->name);
	insert_everywhere(job, info, 1);
	err = make_twin(job, probes, image, size, &twin, &diag);
	if (!ok(!err && twin.ntwins == 1 && twin.piece[0].kind == GPUBPF_IMAGE_CUBIN, "%s %s %s has a twin", b->arch,
		       b->options, info->name)) {
		note("%s", diag.what);
		return;
	}
	if (!strcmp(b->arch, "sm_90") && !strcmp(b->options, "-O3") && job->ninsertions > 2)
		some_exits(job, probes, image, size, info->name);
	/* the twin of `stops` has no exit probe */
	if (!strcmp(b->arch, "sm_90") && !strcmp(b->options, "-O3") && strcmp(info->name, "stops"))
		faults_try(image, size, &twin, info->name, together);
	if (!strcmp(b->options, LINKED) && !strcmp(info->name, "named"))
		faults_try(image, size, &twin, info->name, together);
	check_variables(&twin, info->name, !strcmp(b->options, LINKED));
	/* the text of linked code contains names of symbols */
	if (getenv("GPUBPF_TEST_NVDISASM") && strcmp(b->options, LINKED))
		compare_text(image, size, &twin, info->name);
	gpubpf_twin_image_finish(&twin);
}

/* Returns the index of the function whose mangled name contains the part. */
static uint32_t function_called(const struct sass_cubin *c, const char *part)
{
	for (uint32_t i = 1; i < c->nsymbols; i++)
		if (ELF64_ST_TYPE(c->symbols[i].head.st_info) == STT_FUNC && strstr(c->symbols[i].name, part))
			return i;
	return 0;
}

/* A function whose address is taken must not end threads. The test replaces such a function by one that does. */
static void check_pointers(char *image, size_t size)
{
	struct gpubpf_diag diag;
	struct sass_cubin c;
	struct sass_code code;
	uint32_t square, leaves;
	Elf64_Rela *r = NULL;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(image, size, &c, &diag) < 0)
		abort();
	square = function_called(&c, "square");
	leaves = function_called(&c, "leave");
	for (uint32_t i = 1; i < c.nsections; i++)
		if (!strcmp(c.sections[i].name, ".rela.nv.global.init"))
			r = (Elf64_Rela *)(image + c.sections[i].head.sh_offset);
	while (r && ELF64_R_SYM(r->r_info) != square)
		r++;
	if (!ok(r && leaves, "a pointer is of square, and another function ends threads"))
		return;
	r->r_info = ELF64_R_INFO((uint64_t)leaves, ELF64_R_TYPE(r->r_info));
	/* the second time the result is cached; the refusal must be the same */
	for (int times = 1; times <= 2; times++) {
		gpubpf_diag_init(&diag);
		ok(sass_code_read(&c, sass_kernel_find(&c, "pointed"), &code, &diag) < 0 && strstr(diag.what, "ends threads"),
		   "a pointer of one that ends threads, asked %d times: %s", times, diag.what);
	}
	sass_cubin_finish(&c);
}

/* Returns false for the kernel that calls a linked function that ends threads. Such a kernel has no twin. */
static bool is_probeable(const struct build *b, const struct gpubpf_kernel_info *info)
{
	if (strcmp(b->options, LINKED) || strcmp(info->name, "calls"))
		return true;
	ok(strstr(info->reason, "ends threads"), "%s: %s", info->name, info->reason);
	return false;
}

static bool built; /* true if a build gave twins */

static void try_build(struct gpubpf_lower_job *job, const struct build *b)
{
	struct gpubpf_twin_image probes = { 0 };
	struct gpubpf_kernel_info *infos;
	struct gpubpf_image app = { .kind = GPUBPF_IMAGE_CUBIN, .options = "", .cwd = "" };
	struct gpubpf_diag diag;
	uint32_t n;
	size_t size;
	char *image = compiled_cubin(source, b->arch, b->options, &size);

	gpubpf_diag_init(&diag);
	snprintf(caps.arch, sizeof(caps.arch), "%s", b->arch);
	if (!image) {
		skip(b->arch, "no nvcc here that compiles for it; GPUBPF_TEST_NVCC names one");
		return;
	}
	app.data = image;
	app.size = size;
	if (make_probes(job, &probes, &diag) < 0) {
		if (strstr(diag.what, "no assembler"))
			skip(b->arch, "no libnvJitLink.so here");
		else
			ok(false, "%s: the probes are assembled: %s", b->arch, diag.what);
	} else if (ok(!gpubpf_worker_inspect(compile, "sass", &app, &caps, &infos, &n, &diag) && n == 17,
		      "%s %s: seventeen kernels are listed", b->arch, b->options)) {
		for (uint32_t i = 0; i < n; i++) {
			if (!is_probeable(b, &infos[i]))
				continue;
			ok(!infos[i].reason[0] && infos[i].nparams == 4 && infos[i].params[3].size == 4 && infos[i].regs,
			   "%s: four parameters, %u registers%s", infos[i].name, infos[i].regs, infos[i].reason);
			try_kernel(job, &probes, b, image, size, &infos[i]);
			built = true;
		}
		free(infos);
	} else {
		note("%s", diag.what);
	}
	if (!strcmp(b->options, LINKED))
		check_pointers(image, size);
	gpubpf_twin_image_finish(&probes);
	free(image);
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts how = { .path = argv[3] }, with = { .path = argv[4] };
	struct gpubpf_lower_job job;

	if (argc != 5)
		return 2;
	source = argv[1];
	together = strstr(argv[2], "keyed");
	if (!ok(job_of(argv[2], false, &caps, &job), "%s is verified", base_name(argv[2])))
		return done();
	if (gpubpf_worker_create(&how, &compile) < 0 || gpubpf_worker_create(&with, &assemble) < 0)
		abort();
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++)
		try_build(&job, &builds[i]);
	gpubpf_worker_destroy(compile);
	gpubpf_worker_destroy(assemble);
	if (!built) {
		skip("what exits' probes wait for", "no twin was made");
		return done();
	}
	check_fault_coverage(together);
	ran("sass", "entry");
	ran("sass", "exit");
	return done();
}
