/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of 1 to 3 dimensions, with offsets, with groups that do not divide the range, and with a local size that the
 * runtime chooses and on which the result depends.
 */
#include "app.h"

static const char source[] =
	"__kernel void where(__global uint *out, uint width, uint height)\n"
	"{\n"
	"	size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);\n"
	"	size_t z = get_global_id(2) - get_global_offset(2);\n"
	"	size_t i = (z * height + y) * width + x;\n"
	"	uint h = get_global_id(0) * 3 + get_global_id(1) * 5 + get_global_id(2) * 7;\n"
	"	h = h * 31 + get_local_id(0) + get_local_id(1) * 2 + get_local_id(2) * 4;\n"
	"	h = h * 31 + get_group_id(0) + get_group_id(1) * 2 + get_group_id(2) * 4;\n"
	"	h = h * 31 + get_local_size(0) + get_local_size(1) * 2 + get_local_size(2) * 4;\n"
	"	h = h * 31 + get_num_groups(0) + get_num_groups(1) * 2 + get_work_dim();\n"
	"	out[i] = h;\n"
	"}\n";

static cl_mem out;

static void launch(cl_kernel k, cl_uint dim, const size_t *offset, const size_t *global, const size_t *local)
{
	size_t items = 1;

	for (cl_uint d = 0; d < dim; d++)
		items *= global[d];
	app_arg_mem(k, 0, out);
	app_arg_u32(k, 1, global[0]);
	app_arg_u32(k, 2, dim > 1 ? global[1] : 1);
	app_launch(k, dim, offset, global, local);
	app_digest_buffer(out, items * 4);
}

#define S(...) ((const size_t[3]){ __VA_ARGS__ })

int main(void)
{
	cl_bool uneven = CL_FALSE;
	char version[256] = "";
	cl_program program;
	cl_kernel k;

	app_open();
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_VERSION, sizeof(version), version, NULL));
	if (strstr(version, "OpenCL 2."))
		uneven = CL_TRUE;
	else if (strstr(version, "OpenCL 3."))
		clGetDeviceInfo(app_device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, sizeof(uneven), &uneven, NULL);
	program = app_program(source, uneven ? strstr(version, "3.") ? "-cl-std=CL3.0" : "-cl-std=CL2.0" : "");
	k = app_kernel(program, "where");
	out = app_buffer(1 << 20, NULL);
	launch(k, 1, NULL, S(1000), S(10));
	launch(k, 1, S(77), S(1024), S(128));
	launch(k, 1, NULL, S(1000), NULL);
	launch(k, 1, NULL, S(50), NULL);
	launch(k, 1, NULL, S(997), NULL);
	launch(k, 2, NULL, S(60, 45), S(6, 9));
	launch(k, 2, S(3, 1000), S(64, 48), S(8, 2));
	launch(k, 2, NULL, S(60, 45), NULL);
	launch(k, 3, NULL, S(12, 10, 8), S(3, 5, 2));
	launch(k, 3, S(1, 2, 3), S(16, 8, 4), NULL);
	if (uneven) {
		launch(k, 1, NULL, S(1001), S(64));
		launch(k, 2, S(5, 0), S(61, 47), S(8, 8));
		launch(k, 3, NULL, S(13, 11, 7), S(4, 4, 4));
	}
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(out));
	return app_close();
}
