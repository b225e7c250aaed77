/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-groups: reductions, scans and broadcasts, whose results depend on which lanes form a sub-group. */
#include "app.h"

enum { N = 2048 };

static const char source[] =
	"#ifdef cl_khr_subgroups\n"
	"#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
	"#endif\n"
	"__kernel void lanes(__global const uint *in, __global uint *out)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	uint sum = sub_group_reduce_add(in[i]), scan = sub_group_scan_inclusive_add(in[i]);\n"
	"	uint first = sub_group_broadcast(in[i], 0);\n"
	"	out[i] = sum + scan * 3 + first * 5 + get_sub_group_local_id() * 7 + get_sub_group_size() * 11 +\n"
	"		get_sub_group_id() * 13;\n"
	"}\n";

int main(void)
{
	char extensions[16384] = "", version[64] = "";
	cl_program program;
	uint32_t data[N];
	cl_kernel lanes;
	cl_mem in, out;

	app_open();
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL));
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_OPENCL_C_VERSION, sizeof(version), version, NULL));
	if (!strstr(extensions, "cl_khr_subgroups") && !strstr(extensions, "cl_intel_subgroups"))
		app_lacks("sub-groups");
	for (int i = 0; i < N; i++)
		data[i] = app_random();
	in = app_buffer(sizeof(data), data);
	out = app_buffer(sizeof(data), NULL);
	program = app_program(source, strstr(version, "3.") ? "-cl-std=CL3.0" : "-cl-std=CL2.0");
	lanes = app_kernel(program, "lanes");
	app_arg_mem(lanes, 0, in);
	app_arg_mem(lanes, 1, out);
	for (size_t group = 32; group <= 256; group *= 2) {
		app_launch1(lanes, N, group);
		app_digest_buffer(out, sizeof(data));
	}
	CHECK(clReleaseKernel(lanes));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(in));
	CHECK(clReleaseMemObject(out));
	return app_close();
}
