/* SPDX-License-Identifier: Apache-2.0 */
/* Launches one kernel from three call stacks in the application. */
#include "opencl.h"

static const char source[] =
	"__kernel void scale(__global float *a, uint rounds) {\n"
	"	float v = a[get_global_id(0)];\n"
	"	for (uint i = 0; i < rounds; i++)\n"
	"		v = v * 1.0001f + 0.5f;\n"
	"	a[get_global_id(0)] = v;\n"
	"}\n";

#define PATH __attribute__((noinline, noclone))
#define AND_THEN() __asm__ volatile("") /* prevents a tail call */

static struct opencl cl;
static cl_kernel kernel;
static cl_mem buffer;

static PATH void launch(cl_uint rounds, size_t threads)
{
	check(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &threads, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	AND_THEN();
}

static PATH void forward(void)
{
	launch(10, 4096);
	AND_THEN();
}

static PATH void backward(void)
{
	launch(1000, 4096);
	AND_THEN();
}

static PATH void train(int steps)
{
	for (int i = 0; i < steps; i++) {
		forward();
		backward();
	}
}

static PATH void evaluate(void)
{
	forward();
	AND_THEN();
}

int main(void)
{
	cl_int err;

	cl = opencl_start(source);
	kernel = clCreateKernel(cl.program, "scale", &err);
	check(err, "clCreateKernel");
	buffer = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, 4096 * sizeof(float), NULL, &err);
	check(err, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
	train(10);
	evaluate();
	check(clFinish(cl.queue), "clFinish");
	printf("done\n");
	return 0;
}
