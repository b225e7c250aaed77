/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `cost WHAT` prints the cost of a call. bench/idle runs it with and without the idle library.
 *
 * WHAT launch: the smallest time in ns of a call of a driver's launch function that does nothing.
 *
 * WHAT arguments: the smallest time in ns of clSetKernelArg().
 *
 * WHAT arm: the time in us to find and set all slots of CUDA. It needs the idle library.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hooks/idle/idle.h"

#define BATCHES 200
#define CALLS 100000

int cuLaunch(void *f);

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void launch(void *unused)
{
	cuLaunch(NULL);
}

static cl_kernel kernel;

static void set_argument(void *value)
{
	clSetKernelArg(kernel, 0, sizeof(cl_mem), value);
}

static void create_kernel(void)
{
	const char *source = "kernel void add(global int *a) { a[0]++; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_int err;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		exit(2);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &err);
	if (clBuildProgram(program, 1, &device, "", NULL, NULL))
		exit(2);
	kernel = clCreateKernel(program, "add", &err);
}

/* Returns the time of a call in the fastest batch, in ns. */
static double measure(void (*call)(void *arg), void *arg)
{
	double best = 1e9;

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns(), ns;

		for (int j = 0; j < CALLS; j++)
			call(arg);
		ns = (now_ns() - start) / CALLS;
		best = ns < best ? ns : best;
	}
	return best;
}

static const char *const names[] = {
#define CUDA_CALL(symbol, parameters, arguments) #symbol,
#include "hooks/cuda/calls.def"
};

static double measure_arming(void)
{
	gpubpf_idle_open_fn open = (gpubpf_idle_open_fn)dlsym(RTLD_DEFAULT, GPUBPF_IDLE_OPEN);
	double start = now_ns();
	struct gpubpf_idle idle;

	if (!open || !open(GPUBPF_IDLE_VERSION, &idle))
		exit(2);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		__atomic_store_n(idle.slot(names[i]), (void *)launch, __ATOMIC_RELEASE);
	return (now_ns() - start) / 1000;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cl_mem none = NULL;

	if (!strcmp(what, "arm")) {
		printf("%.2f\n", measure_arming());
	} else if (!strcmp(what, "arguments")) {
		create_kernel();
		printf("%.2f\n", measure(set_argument, &none));
	} else {
		printf("%.2f\n", measure(launch, NULL));
	}
	return 0;
}
