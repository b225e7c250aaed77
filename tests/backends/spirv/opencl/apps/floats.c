/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Float arithmetic whose last bits depend on the vendor's compiler, with and without fast math, and in double precision
 * if the device supports that.
 */
#include "app.h"

static const char source[] =
	"#ifdef DOUBLES\n"
	"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
	"typedef double real;\n"
	"#else\n"
	"typedef float real;\n"
	"#endif\n"
	"__kernel void waves(__global const real *in, __global real *out, real step)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	real x = in[i], y = (real)0;\n"
	"	for (int k = 1; k < 9; k++)\n"
	"		y += sin(x * k + step) / k + exp(-x * x) * pow(fabs(x) + step, (real)0.3f) - x / (k + y * y);\n"
	"	out[i] = y;\n"
	"}\n"
	"__kernel void dots(__global const real *in, __global real *out, real step)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	real sum = (real)0;\n"
	"	for (size_t k = 0; k < 64; k++)\n"
	"		sum += in[(i + k) % get_global_size(0)] * in[(i * 7 + k) % get_global_size(0)] + step;\n"
	"	out[i] = sum * rsqrt(sum * sum + (real)1);\n"
	"}\n";

enum { N = 4096 };

static void run(const char *options, size_t size)
{
	static const char *const names[] = { "waves", "dots" };
	cl_program program = app_program(source, options);
	unsigned char in[N * 8];
	cl_mem a, b;

	for (int i = 0; i < N; i++) {
		double x = (app_random() % 20001 - 10000.0) / 997.0;
		float f = x;

		memcpy(in + i * size, size == 8 ? (void *)&x : (void *)&f, size);
	}
	a = app_buffer(N * size, in);
	b = app_buffer(N * size, NULL);
	for (int i = 0; i < 2; i++) {
		cl_kernel k = app_kernel(program, names[i]);
		double x = 0.125;
		float f = x;

		app_arg_mem(k, 0, a);
		app_arg_mem(k, 1, b);
		CHECK(clSetKernelArg(k, 2, size, size == 8 ? (void *)&x : (void *)&f));
		app_launch1(k, N, i ? 32 : 0);
		app_digest_buffer(b, N * size);
		CHECK(clReleaseKernel(k));
	}
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
}

int main(void)
{
	char extensions[16384] = "";

	app_open();
	run("", 4);
	run("-cl-fast-relaxed-math", 4);
	run("-cl-mad-enable -cl-denorms-are-zero", 4);
	CHECK(clGetDeviceInfo(app_device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL));
	if (strstr(extensions, "cl_khr_fp64"))
		run("-DDOUBLES", 8);
	return app_close();
}
