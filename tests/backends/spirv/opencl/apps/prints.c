/* SPDX-License-Identifier: Apache-2.0 */
/* printf() in a kernel must still reach its destination. Only one work-item prints, so that the order is fixed. */
#include "app.h"

static const char source[] =
	"__kernel void speak(__global const int *data, int which)\n"
	"{\n"
	"	if (get_global_id(0) == which)\n"
	"		printf(\"item %d of %d holds %d, %.2f\\n\", which, (int)get_global_size(0), data[which],\n"
	"		       data[which] / 3.0f);\n"
	"}\n";

int main(void)
{
	int32_t data[64];
	cl_program program;
	cl_kernel speak;
	cl_mem in;

	app_open();
	for (int i = 0; i < 64; i++)
		data[i] = app_random() % 1000;
	in = app_buffer(sizeof(data), data);
	program = app_program(source, "");
	speak = app_kernel(program, "speak");
	app_arg_mem(speak, 0, in);
	for (uint32_t i = 0; i < 5; i++) {
		app_arg_u32(speak, 1, i * 11);
		app_launch1(speak, 64, 8);
		CHECK(clFinish(app_queue));
	}
	CHECK(clReleaseKernel(speak));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(in));
	return app_close();
}
