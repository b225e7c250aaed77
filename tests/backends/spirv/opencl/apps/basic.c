/* SPDX-License-Identifier: Apache-2.0 */
/* One program with two kernels, whose scalar and buffer arguments change between launches. */
#include "app.h"

/* kernels that are never launched; their short names give the shortest possible entries in a list of twins */
#define SHORT(name) "__kernel void " name "(__global uint *p)\n{\n	p[0] = 1;\n}\n"

static const char source[] =
	"__kernel void scale(__global uint *data, uint factor, uint n)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"	if (i >= n)\n"
	"		return;\n"
	"	data[i] = data[i] * factor + i;\n"
	"}\n"
	"__kernel void add(__global const uint *a, __global const uint *b, __global uint *sum)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"	sum[i] = a[i] + b[i];\n"
	"}\n"
	SHORT("a") SHORT("b") SHORT("c") SHORT("d") SHORT("e") SHORT("f") SHORT("g") SHORT("h") SHORT("i") SHORT("j");

int main(void)
{
	enum { N = 4096 };
	cl_program program;
	cl_kernel scale, add;
	cl_mem a, b, sum;

	app_open();
	program = app_program(source, "-cl-std=CL1.2");
	scale = app_kernel(program, "scale");
	add = app_kernel(program, "add");
	a = app_buffer(N * 4, NULL);
	b = app_buffer(N * 4, NULL);
	sum = app_buffer(N * 4, NULL);
	for (uint32_t i = 0; i < 20; i++) {
		app_arg_mem(scale, 0, i & 1 ? a : b);
		app_arg_u32(scale, 1, i + 3);
		app_arg_u32(scale, 2, N - i);
		app_launch1(scale, N, i & 2 ? 64 : 0);
	}
	app_arg_mem(add, 0, a);
	app_arg_mem(add, 1, b);
	app_arg_mem(add, 2, sum);
	app_launch1(add, N, 128);
	app_digest_buffer(sum, N * 4);
	CHECK(clReleaseKernel(scale));
	CHECK(clReleaseKernel(add));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
	CHECK(clReleaseMemObject(sum));
	return app_close();
}
