/* SPDX-License-Identifier: Apache-2.0 */
/* A vector addition with uneven work: work-item i does (i % 64 + 1) * rounds additions. */
#ifndef EXAMPLES_VECTOR_ADD_H
#define EXAMPLES_VECTOR_ADD_H

#include "opencl.h"

static const char vector_add_source[] =
	"__kernel void vector_add(__global const float *a, __global const float *b, __global float *c, uint n)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"	float sum = 0;\n"
	"	if (i >= n)\n"
	"		return;\n"
	"	for (uint k = 0; k <= i % 64; k++)\n"
	"		sum += a[i] + b[(i + k) % n];\n"
	"	c[i] = sum;\n"
	"}\n";

/* Launch the kernel `launches` times over n elements in groups of `local`. Returns 0 if the last result is right. */
static inline int vector_add(const struct opencl *cl, cl_uint n, size_t local, int launches)
{
	size_t global = (n + local - 1) / local * local, wrong = 0;
	float *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b)), *c = malloc(n * sizeof(*c));
	cl_kernel kernel = opencl_kernel(cl, "vector_add");
	cl_mem mem[3];

	for (cl_uint i = 0; i < n; i++) {
		a[i] = i % 7;
		b[i] = i % 5;
	}
	mem[0] = opencl_buffer(cl, a, n * sizeof(*a));
	mem[1] = opencl_buffer(cl, b, n * sizeof(*b));
	mem[2] = opencl_buffer(cl, NULL, n * sizeof(*c));
	for (cl_uint i = 0; i < 3; i++)
		clSetKernelArg(kernel, i, sizeof(mem[i]), &mem[i]);
	clSetKernelArg(kernel, 3, sizeof(n), &n);
	for (int i = 0; i < launches; i++)
		opencl_run(cl, kernel, global, local);
	opencl_read(cl, mem[2], c, n * sizeof(*c));
	for (cl_uint i = 0; i < n; i++) {
		float sum = 0; /* the elements are small integers, so the sum is exact in any order */

		for (cl_uint k = 0; k <= i % 64; k++)
			sum += a[i] + b[(i + k) % n];
		wrong += sum != c[i];
	}
	printf("vector_add: %d launches of %zu threads in groups of %zu: %s\n", launches, global, local,
	       wrong ? "WRONG" : "right");
	for (int i = 0; i < 3; i++)
		clReleaseMemObject(mem[i]);
	clReleaseKernel(kernel);
	free(a);
	free(b);
	free(c);
	return wrong != 0;
}

#endif
