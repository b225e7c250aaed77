/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline of three kernels in one OpenCL program: scale the numbers, sum up neighbours, reduce to one sum. */
#include "opencl.h"

enum { N = 1 << 16, GROUP = 64, ROUNDS = 8 };

static const char source[] =
	"__kernel void scale(__global int *v, int by) { v[get_global_id(0)] *= by; }\n"
	"__kernel void neighbours(__global const int *v, __global int *out, int n)\n"
	"{\n"
	"	int i = get_global_id(0);\n"
	"	out[i] = v[i] + v[(i + 1) % n];\n"
	"}\n"
	"__kernel void reduce(__global const int *v, __global int *sums, __local int *part)\n"
	"{\n"
	"	int l = get_local_id(0);\n"
	"	part[l] = v[get_global_id(0)];\n"
	"	for (int step = get_local_size(0) / 2; step; step /= 2) {\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		if (l < step)\n"
	"			part[l] += part[l + step];\n"
	"	}\n"
	"	if (!l)\n"
	"		sums[get_group_id(0)] = part[0];\n"
	"}\n";

int main(void)
{
	static cl_int v[N], sums[N / GROUP];
	struct opencl cl = opencl_start(source);
	cl_kernel scale = opencl_kernel(&cl, "scale"), neighbours = opencl_kernel(&cl, "neighbours"),
		  reduce = opencl_kernel(&cl, "reduce");
	cl_int by = 1, n = N;
	cl_mem a, b, s;
	long total = 0;

	for (int i = 0; i < N; i++)
		v[i] = i % 10;
	a = opencl_buffer(&cl, v, sizeof(v));
	b = opencl_buffer(&cl, NULL, sizeof(v));
	s = opencl_buffer(&cl, NULL, sizeof(sums));
	clSetKernelArg(scale, 0, sizeof(a), &a);
	clSetKernelArg(scale, 1, sizeof(by), &by);
	clSetKernelArg(neighbours, 0, sizeof(a), &a);
	clSetKernelArg(neighbours, 1, sizeof(b), &b);
	clSetKernelArg(neighbours, 2, sizeof(n), &n);
	clSetKernelArg(reduce, 0, sizeof(b), &b);
	clSetKernelArg(reduce, 1, sizeof(s), &s);
	clSetKernelArg(reduce, 2, GROUP * sizeof(cl_int), NULL);
	for (int i = 0; i < ROUNDS; i++)
		opencl_run(&cl, scale, N, 0);
	opencl_run(&cl, neighbours, N, GROUP);
	opencl_run(&cl, reduce, N, GROUP);
	opencl_read(&cl, s, sums, sizeof(sums));
	for (int i = 0; i < N / GROUP; i++)
		total += sums[i];
	printf("scale %d times, neighbours and reduce once, over %d elements: sum %ld\n", ROUNDS, N, total);
	clReleaseMemObject(a);
	clReleaseMemObject(b);
	clReleaseMemObject(s);
	clReleaseKernel(scale);
	clReleaseKernel(neighbours);
	clReleaseKernel(reduce);
	opencl_stop(&cl);
	return 0;
}
