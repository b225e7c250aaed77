/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured application: an ordinary OpenCL program that contains nothing of gpubpf.
 *
 *   workload VARIANT WORK-ITEMS LAUNCHES
 *
 * VARIANT is the name of the GPU kernel. `native` is a vector addition. `counter`, `histogram` and `event` also do the
 * work of a probe, written by hand. `busy` computes for a long time: $BENCH_BUSY turns of a loop (default 16).
 * `enqueue` measures only the call of clEnqueueNDRangeKernel, for an empty kernel.
 *
 * The output is the median time of a launch and the median processor time of a launch, in ns. The processor time
 * includes all threads of the process. The output continues with a check sum of the kernel's results, the count of the
 * hand-written probe, and the number of work-items of all launches.
 */
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUP 256
#define EVENTS (1u << 22) /* number of records in the hand-written event ring, which has 64 MiB */

static const char source[] =
	"#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
	"#define BODY size_t i = get_global_id(0); c[i] = a[i] + b[i]\n"
	"__kernel void native(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { BODY; }\n"
	"__kernel void busy(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { size_t i = get_global_id(0); float x = a[i];\n"
	"	for (int n = 0; n < BUSY; n++) x = x * 0.9f + b[i]; c[i] = x; }\n"
	"__kernel void counter(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { BODY; atom_add(w, 1ul); }\n"
	"__kernel void histogram(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { BODY; atom_add(w + (get_local_id(0) & 255), 1ul); }\n"
	"__kernel void event(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { BODY; ulong n = atom_add(w, 1ul) & (ROOM - 1);\n"
	"	w[16 + 2 * n] = i; w[17 + 2 * n] = get_group_id(0); }\n"
	"__kernel void enqueue(__global const float *a, __global const float *b, __global float *c,\n"
	"		__global ulong *w) { }\n";

static void die(const char *what, cl_int err)
{
	fprintf(stderr, "workload: %s: %d\n", what, err);
	exit(1);
}

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static cl_mem buffer(cl_context context, cl_kernel kernel, cl_uint arg, size_t size, void *data)
{
	cl_int err;
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, data, &err);

	if (err)
		die("clCreateBuffer", err);
	err = clSetKernelArg(kernel, arg, sizeof(mem), &mem);
	if (err)
		die("clSetKernelArg", err);
	return mem;
}

static uint64_t median(uint64_t *times, unsigned n)
{
	qsort(times, n, sizeof(*times), by_value);
	return times[n / 2];
}

/*
 * Measure `launches` launches, each followed by a wait. Returns the median time in ns, and stores the median processor
 * time in *cpu. With call_only, the time is that of the call, without the wait.
 */
static uint64_t measure(cl_command_queue queue, cl_kernel kernel, size_t items, unsigned launches, int call_only,
			uint64_t *cpu)
{
	uint64_t *times = calloc(launches, sizeof(*times)), *cpus = calloc(launches, sizeof(*cpus)), ns;
	size_t local = GROUP;

	for (unsigned i = 0; i < launches + 3; i++) {
		uint64_t start = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID), called;
		cl_int err = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &local, 0, NULL, NULL);

		called = now(CLOCK_MONOTONIC);
		if (err)
			die("clEnqueueNDRangeKernel", err);
		clFinish(queue);
		if (i < 3)
			continue;
		times[i - 3] = (call_only ? called : now(CLOCK_MONOTONIC)) - start;
		cpus[i - 3] = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	}
	ns = median(times, launches);
	*cpu = median(cpus, launches);
	free(times);
	free(cpus);
	return ns;
}

int main(int argc, char **argv)
{
	const char *variant = argc > 1 ? argv[1] : "native";
	size_t items = argc > 2 ? strtoull(argv[2], NULL, 0) : 1 << 20;
	unsigned launches = argc > 3 ? atoi(argv[3]) : 20;
	const char *text = source, *busy = getenv("BENCH_BUSY");
	char options[64];
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	float *data = malloc(items * sizeof(*data));
	uint64_t *words = calloc(16 + 2 * EVENTS, sizeof(*words)), counted = 0, ns, cpu;
	cl_mem out, extra;
	double sum = 0;
	cl_int err;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		die("no OpenCL device", -1);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	queue = clCreateCommandQueue(context, device, 0, &err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	snprintf(options, sizeof(options), "-DROOM=%uul -DBUSY=%s", EVENTS, busy ? busy : "16");
	err = clBuildProgram(program, 1, &device, options, NULL, NULL);
	if (err)
		die("clBuildProgram", err);
	kernel = clCreateKernel(program, variant, &err);
	if (err)
		die("no such variant", err);
	for (size_t i = 0; i < items; i++)
		data[i] = i % 1000;
	buffer(context, kernel, 0, items * sizeof(*data), data);
	buffer(context, kernel, 1, items * sizeof(*data), data);
	out = buffer(context, kernel, 2, items * sizeof(*data), data);
	extra = buffer(context, kernel, 3, (16 + 2 * EVENTS) * sizeof(*words), words);
	ns = measure(queue, kernel, items, launches, !strcmp(variant, "enqueue"), &cpu);
	clEnqueueReadBuffer(queue, out, CL_TRUE, 0, items * sizeof(*data), data, 0, NULL, NULL);
	clEnqueueReadBuffer(queue, extra, CL_TRUE, 0, 256 * sizeof(*words), words, 0, NULL, NULL);
	for (size_t i = 0; i < items; i++)
		sum += data[i];
	for (int i = 0; i < (!strcmp(variant, "histogram") ? 256 : 1); i++)
		counted += words[i];
	printf("%llu ns, %llu ns of processor, sum %.0f, counted %llu of %llu\n", (unsigned long long)ns,
	       (unsigned long long)cpu, sum, (unsigned long long)counted, (unsigned long long)items * (launches + 3));
	return 0;
}
