/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-taken OBJECT WORKERS: checks which places each target supports on a device, and why it does not support the
 * other places. The list of places must agree with the refusals, also on devices that lack features.
 *
 * test-taken --masks: prints the places for tests/ci/matrix.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "core/session/report/report.h"
#include "core/target.h"
#include "fixture.h"

#define LINKS (GPUBPF_CAP_ACCEPTS_OPENCL_C | GPUBPF_CAP_LINK | GPUBPF_CAP_ATOMIC64)

static const char *workers;

static struct gpubpf_device_caps device(uint64_t bits)
{
	struct gpubpf_device_caps caps = {
		.backend = "opencl", .bits = bits, .compute_units = 4, .opencl_c_version = 120, .address_bits = 64
	};

	memset(caps.name, 'G', sizeof(caps.name) - 1);
	return caps;
}

/* Returns the end of the reason why the target does not support the place. */
static const char *reason_of(const struct gpubpf_target_info *t, uint32_t site)
{
	for (size_t i = 0; i < sizeof(t->never) / sizeof(t->never[0]); i++)
		if (t->never[i].places >> site & 1)
			return t->never[i].why;
	return t->where.places >> site & 1 ? t->where.why : ": see gpubpf kernel list --places";
}

/*
 * For each place of each target: the mask of supported places and the reason must agree, and the reason must be
 * complete.
 */
static void test_reasons(uint64_t bits, const char *where)
{
	struct gpubpf_device_caps caps = device(bits);
	const struct gpubpf_target_info *t;

	for (size_t i = 0; (t = gpubpf_target_at(i)); i++) {
		uint32_t wrong = 0;

		for (uint32_t site = 1; site < GPUBPF_NSITES; site++) {
			char why[GPUBPF_REFUSAL_SIZE] = "", begins[64];
			bool can = gpubpf_target_supports(t, &caps, site, why);
			const char *end = reason_of(t, site);

			snprintf(begins, sizeof(begins), "gpu/%s/ cannot be probed on GGG", gpubpf_place_kind(site)->name);
			wrong += can != (gpubpf_target_places(t, &caps) >> site & 1);
			wrong += can ? why[0] != 0 :
				       strncmp(why, begins, strlen(begins)) || strlen(why) < strlen(end) ||
						 strcmp(why + strlen(why) - strlen(end), end);
			if (wrong)
				note("%s", why);
		}
		ok(!wrong, "%s, %s: what it does not take it says as a whole", t->name, where);
	}
}

/* A place that a target never supports, on any device, has its own reason. */
static void test_never(void)
{
	struct gpubpf_device_caps caps = device(~0ull);
	const struct gpubpf_target_info *sass = gpubpf_target_find("sass");
	char why[GPUBPF_REFUSAL_SIZE] = "";

	ok(!gpubpf_target_supports(sass, &caps, GPUBPF_SITE_MARK, why) && strstr(why, "assembler drops marks"), "%s", why);
	ok(gpubpf_target_supports(sass, &caps, GPUBPF_SITE_BLOCK_END, why), "it counts a block's lanes");
}

/* A reason has the device's whole name if the name fits. A name that does not fit ends with "...". */
static void test_names(void)
{
	static const char name[] = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor @ 2.00GHz";
	struct gpubpf_device_caps caps = device(LINKS | GPUBPF_CAP_X86), longest = device(LINKS);
	const struct gpubpf_target_info *wrap = gpubpf_target_find("wrap");
	char why[GPUBPF_REFUSAL_SIZE] = "";

	snprintf(caps.name, sizeof(caps.name), "%s", name);
	ok(!gpubpf_target_supports(wrap, &caps, GPUBPF_SITE_INSN, why) && strstr(why, name), "%s", why);
	ok(!gpubpf_target_supports(wrap, &longest, GPUBPF_SITE_MEM, why) && strstr(why, "GGG...: "), "%s", why);
}

static int source(void)
{
	static const char text[] =
		"__kernel void k(__global int *p) { barrier(CLK_LOCAL_MEM_FENCE); if (p[0]) p[1] = p[2]; }\n";
	int fd = memfd_create("source", MFD_ALLOW_SEALING);

	if (write(fd, text, sizeof(text) - 1) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		note("%s", strerror(errno));
	return fd;
}

/* Request a twin for an OpenCL C kernel on a device with these capabilities. Returns the session's answer. */
static struct twin_answer request_twin(struct gpubpf_session *s, uint64_t bits)
{
	struct gpubpf_device_caps caps = device(bits);
	struct gpubpf_writer w = { 0 };
	struct twin_answer t;
	int fd = source();
	struct agent a;

	agent_connect(&a, s);
	agent_hello(&a);
	gpubpf_put_u32(&w, 0);
	gpubpf_put_caps(&w, &caps);
	agent_send(&a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
	agent_wait(&a, GPUBPF_MSG_ARENA, 60000);
	agent_request_twin(&a, 0, GPUBPF_IMAGE_OPENCL_C, "k", fd);
	t = agent_twin(&a, 60000);
	agent_close(&a);
	close(fd);
	return t;
}

/* Returns a mask of the places that `gpubpf kernel list --places` prints for a device with these capabilities. */
static uint32_t listed(uint64_t bits)
{
	struct gpubpf_session_opts o = {
		.sz = sizeof(o), .runtime_dir = dir, .worker_dir = workers, .wait_ms = 60000, .inspect = true
	};
	struct gpubpf_session *s = gpubpf_session__new(&o);
	const struct gpubpf_place *place;
	uint32_t n = 0, kinds = 0;

	if (gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
		note("%s", gpubpf_session__error(s));
	request_twin(s, bits);
	place = gpubpf_report_places(s, "k", &n);
	for (uint32_t i = 0; place && i < n; i++)
		kinds |= 1u << place[i].kind;
	gpubpf_session__free(s);
	return kinds;
}

static void test_lists(void)
{
	const uint32_t inside = GPUBPF_SITE_BIT(MEM) | GPUBPF_SITE_BIT(BARRIER) | GPUBPF_SITE_BIT(BRANCH);
	const struct gpubpf_target_info *wrap = gpubpf_target_find("wrap");
	uint32_t cpu = listed(LINKS | GPUBPF_CAP_X86), gpu = listed(LINKS);

	ok((cpu & inside) == inside, "of a CPU's kernel its places of instructions are listed: %#x", cpu);
	ok(gpu == wrap->places, "of a GPU's those that OpenCL C has there: %#x", gpu);
}

static void test_refusals(void)
{
	struct gpubpf_session *s = start(workers);
	struct twin_answer gpu = request_twin(s, LINKS), cpu;

	ok(strstr(gpu.reason, "_63: gpu/mem_before.all/ cannot be probed on GG") &&
		   strstr(gpu.reason, gpubpf_target_find("wrap")->where.why),
	   "a program there is refused on a GPU, with the whole reason: %s", gpu.reason);
	gpubpf_session__free(s);
	s = start(workers);
	cpu = request_twin(s, LINKS | GPUBPF_CAP_X86);
	ok(!cpu.failed && !strstr(cpu.reason, "cannot be probed on"), "and not on a CPU: %s", cpu.reason);
	gpubpf_session__free(s);
}

static void print_mask(const char *name, const char *device, uint32_t places)
{
	printf("%s %s", name, device);
	for (uint32_t site = 1; site < GPUBPF_NSITES; site++)
		if (places >> site & 1)
			printf(" %s", gpubpf_place_kind(site)->name);
	printf("\n");
}

static int print_masks(void)
{
	const struct gpubpf_device_caps cpu = device(LINKS | GPUBPF_CAP_X86), gpu = device(LINKS);
	const struct gpubpf_target_info *t;
	uint32_t kernels = 0;

	for (uint32_t site = 1; site < GPUBPF_NSITES; site++)
		if (gpubpf_place_kind(site)->where != GPUBPF_WHERE_HOST)
			kernels |= 1u << site;
	print_mask("all", "places", kernels);
	for (size_t i = 0; (t = gpubpf_target_at(i)); i++) {
		print_mask(t->name, "cpu", gpubpf_target_places(t, &cpu));
		print_mask(t->name, "gpu", gpubpf_target_places(t, &gpu));
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--masks"))
		return print_masks();
	if (!fixture(argc, argv))
		return 1;
	workers = joins;
	gpubpf_targets_check();
	test_never();
	test_names();
	test_reasons(0, "with nothing");
	test_reasons(LINKS, "on a GPU");
	test_reasons(UINT64_MAX, "with everything");
	test_lists();
	test_refusals();
	rmdir(dir);
	return done();
}
