/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan-changes AGENT: programs attach and detach while eight threads launch, each its own kernel. A launch may only
 * wait for its kernel's first twin, which exists when clCreateKernel() returns. The tool delays its answers while each
 * thread makes many launches, and the programs that were attached earlier must see all of them. The test runs itself as
 * the application (plan-changes -).
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_tool.h"
#include "tests/tap.h"

#define THREADS 8
#define ITEMS 64
#define HELD_LAUNCHES 200       /* launches of each thread while the tool delays its answers */
#define TIMEOUT_S 240 /* seconds within which a change must take effect */

/* -- the program -- */

static const char source[] =
	"__kernel void step0(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step1(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step2(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step3(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step4(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step5(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step6(__global int *v) { v[get_global_id(0)]++; }\n"
	"__kernel void step7(__global int *v) { v[get_global_id(0)]++; }\n";

static cl_context context;
static cl_device_id device;
static cl_kernel kernels[THREADS];
static atomic_bool stop;
static atomic_int wrong;

static void check(cl_int err)
{
	if (err)
		atomic_fetch_add(&wrong, 1);
}

static void *launch(void *arg)
{
	cl_kernel *k = arg;
	size_t global = ITEMS, local = 16;
	static const int zeros[ITEMS];
	int values[ITEMS], n = 0;
	cl_int err;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(zeros), (void *)zeros, &err);

	check(clSetKernelArg(*k, 0, sizeof(mem), &mem));
	for (; !atomic_load(&stop); n++) {
		check(clEnqueueNDRangeKernel(queue, *k, 1, NULL, &global, &local, 0, NULL, NULL));
		check(clFinish(queue));
		usleep(100);
	}
	check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL));
	for (int i = 0; i < ITEMS; i++)
		check(values[i] != n);
	clReleaseMemObject(mem);
	clReleaseCommandQueue(queue);
	return (void *)(intptr_t)n;
}

static void print_line(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static int program(void)
{
	const char *text = source;
	pthread_t threads[THREADS];
	cl_platform_id platform;
	cl_program built;
	cl_int err;
	char c;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	built = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	check(clBuildProgram(built, 1, &device, "", NULL, NULL));
	print_line("built");
	for (int i = 0; i < THREADS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "step%d", i);
		kernels[i] = clCreateKernel(built, name, &err);
		check(err);
		if (!i)
			print_line("made");
	}
	if (read(0, &c, 1) != 1)
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch, &kernels[i]);
	if (read(0, &c, 1) != 1)
		return 2;
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++) {
		void *n;

		pthread_join(threads[i], &n);
		printf("%d\n", (int)(intptr_t)n);
		clReleaseKernel(kernels[i]);
	}
	clReleaseProgram(built);
	clReleaseContext(context);
	return wrong ? 3 : 0;
}

/* -- the test -- */

static struct fake_tool tool;
static FILE *out;
static int in;
static pid_t pid;

static void begin(const char *agent)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		exit(2);
	pid = fork();
	if (!pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		setenv("OPENCL_LAYERS", agent, 1);
		setenv("GPUBPF_SESSION", tool.path, 1);
		execl("/proc/self/exe", "plan-changes", "-", (char *)NULL);
		_exit(99);
	}
	close(to[0]);
	close(from[1]);
	in = to[1];
	out = fdopen(from[0], "r");
}

static bool hears(const char *what)
{
	char line[64];

	return fgets(line, sizeof(line), out) && !strncmp(line, what, strlen(what));
}

static struct fake_sum sum_of(int thread)
{
	char name[8];

	snprintf(name, sizeof(name), "step%d", thread);
	return fake_sum(&tool, name);
}

static uint64_t link_launches(uint32_t link)
{
	return __atomic_load_n(&tool.table->link[link].launches, __ATOMIC_RELAXED);
}

/* Wait until each thread has made `more` additional launches. Returns false after TIMEOUT_S. */
static bool all_launch(uint64_t more)
{
	uint64_t from[THREADS];

	for (int i = 0; i < THREADS; i++)
		from[i] = sum_of(i).launches;
	for (int n = 0; n < TIMEOUT_S * 1000; n++) {
		int behind = 0;

		for (int i = 0; i < THREADS; i++)
			behind += sum_of(i).launches < from[i] + more;
		if (!behind)
			return true;
		usleep(1000);
	}
	return false;
}

/* Returns the number of launches that were missed because their twin was not ready. */
static uint64_t missed(void)
{
	uint64_t n = 0;

	for (int i = 0; i < THREADS; i++)
		n += sum_of(i).missed_by[GPUBPF_MISS_LATE];
	return n;
}

/* Wait until the launches of all threads run the link's program, or until none does. Returns false after TIMEOUT_S. */
static bool wait_for_link(uint32_t link, bool on)
{
	for (time_t until = time(NULL) + TIMEOUT_S; time(NULL) < until;) {
		uint64_t before = link_launches(link), gained;

		if (!all_launch(10))
			return false;
		gained = link_launches(link) - before;
		if (on ? gained >= 10 * THREADS : !gained)
			return true;
	}
	return false;
}

static void test_first_twin(const char *agent)
{
	struct pollfd fds = { .events = POLLIN };

	tool.seen->hold = 1;
	begin(agent);
	if (!hears("built")) {
		skip("changes of the plan", "no OpenCL device");
		exit(done());
	}
	for (int n = 0; n < TIMEOUT_S * 1000 && !tool.seen->asked; n++)
		usleep(1000);
	fds.fd = fileno(out);
	ok(tool.seen->asked == 1 && !poll(&fds, 1, 500), "clCreateKernel() has asked for the twins, and waits for them");
	tool.seen->hold = 0;
	ok(hears("made") && tool.seen->twins == 1, "it returns when they are made");
	ok(!sum_of(0).launches, "before a launch");
}

static void test_changes(void)
{
	static const uint32_t both[] = { 0, 1 }, second[] = { 1 }, third[] = { 2 }, refused[] = { 1, 3 };
	uint64_t had, missing;
	uint32_t asked;

	(void)!write(in, "\n", 1);
	ok(all_launch(HELD_LAUNCHES) && !missed() && tool.seen->twins == 1, "each launch is probed, the first too");

	tool.seen->hold = 1;
	had = link_launches(0);
	fake_plan(&tool, "step*", both, 2);
	ok(all_launch(HELD_LAUNCHES) && link_launches(0) >= had + THREADS * HELD_LAUNCHES && !link_launches(1) && !missed(),
	   "attached: launches go on with what was attached before, while the twin is made");
	tool.seen->hold = 0;
	ok(wait_for_link(1, true) && wait_for_link(0, true) && !missed(), "when it is ready they have both");

	tool.seen->hold = 1;
	had = link_launches(1);
	fake_plan(&tool, "step*", second, 1);
	ok(all_launch(HELD_LAUNCHES) && link_launches(1) >= had + THREADS * HELD_LAUNCHES && !missed(), "detached: the link that stays loses no launch");
	tool.seen->hold = 0;
	ok(wait_for_link(0, false) && wait_for_link(1, true) && !missed(), "when the twin is ready, what was detached has ended");

	tool.seen->refuse = 1;
	asked = tool.seen->asked;
	had = link_launches(1);
	fake_plan(&tool, "step*", refused, 2);
	for (int n = 0; n < TIMEOUT_S * 1000 && tool.seen->asked == asked; n++)
		usleep(1000);
	ok(tool.seen->asked > asked && all_launch(HELD_LAUNCHES) && link_launches(1) >= had + THREADS * HELD_LAUNCHES && !missed() && !link_launches(3),
	   "attached and refused: the link that was there before loses no launch");
	tool.seen->refuse = 0;

	fake_plan(&tool, "step*", both, 2);
	ok(wait_for_link(0, true) && tool.seen->twins == 3, "attached again: its twin is there");
	fake_attach(&tool, NULL);
	ok(wait_for_link(0, false) && wait_for_link(1, false) && !missed(), "nothing is attached: nothing runs but the kernels");

	tool.seen->hold = 1;
	fake_plan(&tool, "step*", third, 1);
	ok(all_launch(HELD_LAUNCHES) && !link_launches(2), "attached to kernels without a twin: launches go on unprobed");
	missing = missed();
	ok(missing >= THREADS * (HELD_LAUNCHES - 1), "and are missed: %llu", (unsigned long long)missing);
	tool.seen->hold = 0;
	ok(wait_for_link(2, true), "until it is ready");
}

static void test_counts(void)
{
	uint64_t launches, all = 0, bad = 0;
	char line[64];
	int status;

	(void)!write(in, "\n", 1);
	for (int i = 0; i < THREADS && fgets(line, sizeof(line), out); i++) {
		struct fake_sum sum = sum_of(i);

		launches = strtoull(line, NULL, 10);
		all += launches;
		bad += sum.launches != launches || sum.entries != sum.probed * ITEMS || sum.exits != sum.probed * ITEMS ||
		       sum.probed + sum.missed != launches;
	}
	ok(all && !bad, "of %llu launches all are counted, and work-items of each that was probed", (unsigned long long)all);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "the program has computed what it would");
}

int main(int argc, char **argv)
{
	static const struct fake_options options = { .mode = FAKE_PROBE, .pattern = "step*", .wait_ms = TIMEOUT_S * 1000, .sample = 1 };

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "-"))
		return program();
	fake_start(&tool, &options);
	test_first_twin(argv[1]);
	test_changes();
	test_counts();
	fake_stop(&tool);
	return done();
}
