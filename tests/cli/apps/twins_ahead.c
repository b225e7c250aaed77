/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins_ahead PROGRAMS [FILE]: builds PROGRAMS OpenCL programs with one kernel each before the first launch. It then
 * waits until FILE exists, and launches each kernel once.
 */
#include <unistd.h>

#include "opencl.h"

#define N 1024
#define MAX_PROGRAMS 64

static cl_kernel make(const struct opencl *cl, int i)
{
	struct opencl one = *cl;
	const char *text;
	char source[256], name[16];
	cl_int err;

	snprintf(name, sizeof(name), "step_%d", i);
	snprintf(source, sizeof(source), "__kernel void %s(__global int *v) { v[get_global_id(0)] += %d; }\n", name, i + 1);
	text = source;
	one.program = clCreateProgramWithSource(cl->context, 1, &text, NULL, &err);
	check(err, "clCreateProgramWithSource");
	check(clBuildProgram(one.program, 1, &cl->device, "", NULL, NULL), "clBuildProgram");
	return opencl_kernel(&one, name);
}

int main(int argc, char **argv)
{
	struct opencl cl = opencl_start("__kernel void none(void) {}\n");
	int n = argc > 1 ? atoi(argv[1]) : 1;
	static cl_int v[N];
	cl_kernel kernels[MAX_PROGRAMS];
	cl_mem mem = opencl_buffer(&cl, NULL, sizeof(v));

	for (int i = 0; i < n && i < MAX_PROGRAMS; i++)
		kernels[i] = make(&cl, i);
	for (int i = 0; argc > 2 && access(argv[2], F_OK) && i < 600; i++)
		usleep(100000);
	for (int i = 0; i < n && i < MAX_PROGRAMS; i++) {
		clSetKernelArg(kernels[i], 0, sizeof(mem), &mem);
		opencl_run(&cl, kernels[i], N, 64);
	}
	opencl_read(&cl, mem, v, sizeof(v));
	printf("%d\n", v[N - 1]);
	return 42;
}
