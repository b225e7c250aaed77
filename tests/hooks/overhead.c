/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the nanoseconds that the agent adds to a launch, as medians of paired runs over a layer that drops launches.
 *
 * There are three cases. The first has no session. The second has a session with nothing attached, or with nothing
 * attached after the first launch (limit: 200 ns). The third has a twin whose arguments stay or change.
 *
 * `overhead AGENT.so NULL-LAYER.so`: prints TAP, with the figures as notes.
 * `overhead launch`: performs the launches, and prints the ns of a launch, and of setting an argument and launching.
 */
#include "fake_tool.h"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

#define BATCHES 21
#define LAUNCHES 20000
#define PAIRS 5
#define ALLOWED_NS 200.0

static const char source[] = "__kernel void tiny(__global uint *data, uint with) { data[get_global_id(0)] += with; }\n";

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static double batch(cl_command_queue queue, cl_kernel kernel, bool set)
{
	double from = now_ns();
	size_t global = 64, local = 64;

	for (cl_uint i = 0; i < LAUNCHES; i++) {
		if (set)
			clSetKernelArg(kernel, 1, sizeof(i), &i);
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
	}
	return (now_ns() - from) / LAUNCHES;
}

static int launches(void)
{
	double plain[BATCHES], set[BATCHES];
	cl_platform_id platform;
	const char *text = source;
	cl_command_queue queue;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_kernel kernel;
	cl_uint one = 1;
	cl_mem data;
	cl_int err;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	queue = clCreateCommandQueue(context, device, 0, &err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	clBuildProgram(program, 1, &device, "", NULL, NULL);
	kernel = clCreateKernel(program, "tiny", &err);
	data = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, &err);
	if (err || clSetKernelArg(kernel, 0, sizeof(data), &data) || clSetKernelArg(kernel, 1, sizeof(one), &one))
		return 1;
	batch(queue, kernel, true); /* the first launch waits for its twin */
	usleep(100000);             /* time for the tool to detach */
	for (int i = 0; i < BATCHES; i++) {
		plain[i] = batch(queue, kernel, false);
		set[i] = batch(queue, kernel, true);
	}
	printf("%.1f %.1f\n", median(plain, BATCHES), median(set, BATCHES));
	return 0;
}

struct cost {
	double launch[PAIRS], set[PAIRS];
};

static bool measure(const char *self, const char *layers, const char *session, struct cost *cost, int i)
{
	char command[4096];
	bool good;
	FILE *f;

	snprintf(command, sizeof(command), "OPENCL_LAYERS=%s GPUBPF_SESSION=%s timeout 120 %s launch", layers,
		 session ? session : "", self);
	f = popen(command, "r");
	good = f && fscanf(f, "%lf %lf", &cost->launch[i], &cost->set[i]) == 2;
	return f && !pclose(f) && good;
}

static struct cost bare, none, idle, probed, detached;

static bool measure_all(const char *self, const char *agent, const char *null)
{
	struct fake_options o = { .mode = FAKE_PROBE, .sample = 1 }, p = { .mode = FAKE_PROBE, .pattern = "*", .sample = 1,
									  .wait_ms = 60000 };
	struct fake_options f = p;
	struct fake_tool idle_tool, probing, fleeting;
	char both[2048];
	bool good = true;

	snprintf(both, sizeof(both), "%s:%s", null, agent);
	fake_start(&idle_tool, &o);
	fake_start(&probing, &p);
	f.fleeting = true;
	fake_start(&fleeting, &f);
	for (int i = 0; good && i < PAIRS; i++) {
		fake_attach(&fleeting, "*");
		good = measure(self, null, NULL, &bare, i) && measure(self, both, NULL, &none, i) &&
		       measure(self, both, idle_tool.path, &idle, i) && measure(self, both, probing.path, &probed, i) &&
		       measure(self, both, fleeting.path, &detached, i);
	}
	good = good && fake_sum(&idle_tool, "tiny").launches && fake_sum(&probing, "tiny").probed &&
	       fake_sum(&fleeting, "tiny").probed &&
	       fake_sum(&fleeting, "tiny").probed < fake_sum(&fleeting, "tiny").launches / 2;
	fake_stop(&idle_tool);
	fake_stop(&probing);
	fake_stop(&fleeting);
	return good;
}

/* Returns the median of the differences between paired runs with and without the agent. */
static double added(const double *with, const double *without)
{
	double d[PAIRS];

	for (int i = 0; i < PAIRS; i++)
		d[i] = with[i] - without[i];
	return median(d, PAIRS);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return launches();
	if (argc != 3)
		return 2;
	if (!ok(measure_all(argv[0], argv[1], argv[2]), "launches are measured"))
		return done();
	note("ns added to clEnqueueNDRangeKernel: no session %.0f, nothing attached %.0f, twin %.0f, detached %.0f",
	     added(none.launch, bare.launch), added(idle.launch, bare.launch), added(probed.launch, bare.launch),
	     added(detached.launch, bare.launch));
	note("with clSetKernelArg before each: no session %.0f, nothing attached %.0f, twin %.0f, detached %.0f",
	     added(none.set, bare.set), added(idle.set, bare.set), added(probed.set, bare.set),
	     added(detached.set, bare.set));
	ok(added(none.launch, bare.launch) <= ALLOWED_NS, "no session: at most %.0f ns a launch", ALLOWED_NS);
	ok(added(idle.launch, bare.launch) <= ALLOWED_NS, "nothing attached: at most %.0f ns a launch", ALLOWED_NS);
	ok(added(detached.launch, bare.launch) <= ALLOWED_NS, "detached: at most %.0f ns a launch", ALLOWED_NS);
	return done();
}
