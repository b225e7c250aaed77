/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-buffers, NULL buffers, and arguments that are set again after their first buffer has been released. */
#include "app.h"

enum { N = 4096, PART = 1024 };

static const char source[] =
	"__kernel void fill(__global uint *part, __global const uint *maybe, uint with)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"	part[i] = part[i] * 5 + with + (maybe ? maybe[i] : 1000);\n"
	"}\n";

int main(void)
{
	cl_program program;
	cl_kernel fill;
	cl_mem all, other;

	app_open();
	program = app_program(source, "");
	fill = app_kernel(program, "fill");
	all = app_buffer(N * 4, NULL);
	for (uint32_t i = 0; i < 12; i++) {
		cl_buffer_region region = { (i % 4) * PART * 4, PART * 4 };
		cl_int err;
		cl_mem part = clCreateSubBuffer(all, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &err);

		CHECK(err);
		other = app_buffer(PART * 4, NULL);
		app_arg_mem(fill, 0, part);
		if (i % 3)
			app_arg_mem(fill, 1, other);
		else
			CHECK(clSetKernelArg(fill, 1, sizeof(cl_mem), NULL));
		app_arg_u32(fill, 2, i);
		app_launch1(fill, PART, i % 2 ? 64 : 0);
		CHECK(clReleaseMemObject(part));
		CHECK(clReleaseMemObject(other));
	}
	app_digest_buffer(all, N * 4);
	CHECK(clReleaseKernel(fill));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(all));
	return app_close();
}
