/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clCloneKernel(): the clone has the arguments of its original, and later changes to one kernel do not affect the
 * other.
 */
#include "app.h"

enum { N = 1024 };

static const char source[] =
	"__kernel void weigh(__global uint *data, uint4 w, __local uint *tile)\n"
	"{\n"
	"	uint l = get_local_id(0);\n"
	"	tile[l] = data[get_global_id(0)];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	data[get_global_id(0)] = tile[(l + 1) % get_local_size(0)] * w.x + w.y + w.z * w.w;\n"
	"}\n";

int main(void)
{
	cl_uint4 w = { { 3, 5, 7, 11 } };
	cl_kernel weigh, clone = NULL;
	cl_program program;
	cl_mem a, b;
	cl_int err;

	app_open();
	program = app_program(source, "");
	weigh = app_kernel(program, "weigh");
	a = app_buffer(N * 4, NULL);
	b = app_buffer(N * 4, NULL);
	app_arg_mem(weigh, 0, a);
	CHECK(clSetKernelArg(weigh, 1, sizeof(w), &w));
	CHECK(clSetKernelArg(weigh, 2, 64 * 4, NULL));
	clone = clCloneKernel(weigh, &err);
	if (!clone)
		app_lacks("clCloneKernel");
	app_launch1(weigh, N, 64);
	w.s[0] = 1001;
	CHECK(clSetKernelArg(clone, 1, sizeof(w), &w));
	app_arg_mem(clone, 0, b);
	app_launch1(clone, N, 32);
	app_launch1(weigh, N, 32);
	app_launch1(clone, N, 64);
	CHECK(clReleaseKernel(weigh));
	app_launch1(clone, N, 64);
	CHECK(clReleaseKernel(clone));
	app_digest_buffer(a, N * 4);
	app_digest_buffer(b, N * 4);
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
	return app_close();
}
