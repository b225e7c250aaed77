/* SPDX-License-Identifier: Apache-2.0 */
/*
 * included OPTIONS: runs a kernel whose body is in step.h, in a folder that the options name. Prints the kernel's
 * result.
 */
#include "opencl.h"

#define N 64

int main(int argc, char **argv)
{
	const char *text = "__kernel void bump(__global int *v) { v[get_global_id(0)] =\n#include \"step.h\"\n; }\n";
	struct opencl cl = opencl_start("__kernel void none(void) {}\n");
	static cl_int v[N];
	cl_kernel kernel;
	cl_mem mem;
	cl_int err;

	cl.program = clCreateProgramWithSource(cl.context, 1, &text, NULL, &err);
	check(err, "clCreateProgramWithSource");
	check(clBuildProgram(cl.program, 1, &cl.device, argc > 1 ? argv[1] : "", NULL, NULL), "clBuildProgram");
	kernel = opencl_kernel(&cl, "bump");
	mem = opencl_buffer(&cl, NULL, sizeof(v));
	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	opencl_run(&cl, kernel, N, 16);
	opencl_read(&cl, mem, v, sizeof(v));
	printf("%d\n", v[N - 1]);
	return 42;
}
