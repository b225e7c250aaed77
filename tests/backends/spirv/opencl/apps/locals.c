/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory as argument and as array, barriers, early returns, a required group size, and a kernel that calls
 * another kernel.
 */
#include "app.h"

enum { N = 8192 };

static const char source[] =
	"__kernel void reduce(__global const uint *in, __global uint *out, __local uint *part)\n"
	"{\n"
	"	uint l = get_local_id(0);\n"
	"	part[l] = in[get_global_id(0)];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	for (uint s = get_local_size(0) / 2; s; s >>= 1) {\n"
	"		if (l < s)\n"
	"			part[l] += part[l + s];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	if (l)\n"
	"		return;\n"
	"	out[get_group_id(0)] = part[0];\n"
	"}\n"
	"__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\n"
	"void rotate_in_group(__global uint *data)\n"
	"{\n"
	"	__local uint tile[64];\n"
	"	uint l = get_local_id(0);\n"
	"	if (get_group_id(0) & 1)\n"
	"		return;\n"
	"	tile[l] = data[get_global_id(0)];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	data[get_global_id(0)] = tile[(l + 13) % 64] * 3;\n"
	"}\n"
	"__kernel void bump(__global uint *data)\n"
	"{\n"
	"	data[get_global_id(0)] += 5;\n"
	"}\n"
	"__kernel void bump_twice(__global uint *data)\n"
	"{\n"
	"	bump(data);\n"
	"	bump(data);\n"
	"}\n";

int main(void)
{
	cl_kernel reduce, rotate, bump, twice;
	cl_program program;
	uint32_t data[N];
	cl_mem in, out;

	app_open();
	for (int i = 0; i < N; i++)
		data[i] = app_random();
	in = app_buffer(sizeof(data), data);
	out = app_buffer(sizeof(data), NULL);
	program = app_program(source, "");
	reduce = app_kernel(program, "reduce");
	rotate = app_kernel(program, "rotate_in_group");
	bump = app_kernel(program, "bump");
	twice = app_kernel(program, "bump_twice");
	app_arg_mem(rotate, 0, in);
	app_launch1(rotate, N, 64);
	app_arg_mem(bump, 0, in);
	app_launch1(bump, N, 0);
	app_arg_mem(twice, 0, in);
	app_launch1(twice, N / 2, 16);
	app_arg_mem(reduce, 0, in);
	app_arg_mem(reduce, 1, out);
	for (size_t group = 16; group <= 128; group *= 2) {
		CHECK(clSetKernelArg(reduce, 2, group * 4, NULL));
		app_launch1(reduce, N, group);
		app_digest_buffer(out, sizeof(data));
	}
	app_digest_buffer(in, sizeof(data));
	CHECK(clReleaseKernel(reduce));
	CHECK(clReleaseKernel(rotate));
	CHECK(clReleaseKernel(bump));
	CHECK(clReleaseKernel(twice));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(in));
	CHECK(clReleaseMemObject(out));
	return app_close();
}
