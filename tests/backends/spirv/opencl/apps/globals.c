/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program-scope variables that the kernels share. The program runs unprobed, because a twin would have a second copy of
 * them.
 */
#include "app.h"

enum { N = 256 };

static const char source[] =
	"__global uint total = 5;\n"
	"__constant uint table[4] = { 3, 1, 4, 1 };\n"
	"__kernel void put(uint v) { if (get_global_id(0) == 0) total += v + table[v % 4]; }\n"
	"__kernel void get(__global uint *out) { out[get_global_id(0)] = total + get_global_id(0); }\n";

int main(void)
{
	char version[256] = "";
	cl_program p;
	cl_kernel put, get;
	cl_mem out;
	cl_int err;
	const char *text = source;

	app_open();
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_OPENCL_C_VERSION, sizeof(version), version, NULL));
	p = clCreateProgramWithSource(app_context, 1, &text, NULL, &err);
	CHECK(err);
	if (clBuildProgram(p, 1, &app_device, strstr(version, "3.") ? "-cl-std=CL3.0" : "-cl-std=CL2.0", NULL, NULL))
		app_lacks("program-scope variables");
	put = app_kernel(p, "put");
	get = app_kernel(p, "get");
	out = app_buffer(N * 4, NULL);
	app_arg_mem(get, 0, out);
	for (uint32_t i = 0; i < 6; i++) {
		app_arg_u32(put, 0, i * 10 + 1);
		app_launch1(put, 64, 16);
		app_launch1(get, N, 0);
		app_digest_buffer(out, N * 4);
	}
	CHECK(clReleaseKernel(put));
	CHECK(clReleaseKernel(get));
	CHECK(clReleaseProgram(p));
	CHECK(clReleaseMemObject(out));
	return app_close();
}
