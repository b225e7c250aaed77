/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from SPIR-V, by the core call and by the extension's; argv[1] is the module (il_kernels.cl). */
#include "app.h"

#include <CL/cl_ext.h>

enum { N = 1024 };

static void run(cl_program p)
{
	cl_mem a = app_buffer(N * 4, NULL), b = app_buffer(N * 4, NULL);
	cl_kernel ramp = app_kernel(p, "ramp"), sums = app_kernel(p, "sums"),
		  ratios = app_kernel(p, "ratios");

	app_arg_mem(ramp, 0, a);
	app_arg_u32(ramp, 1, 3);
	app_launch1(ramp, N, 32);
	app_arg_mem(sums, 0, a);
	app_arg_mem(sums, 1, b);
	CHECK(clSetKernelArg(sums, 2, 64 * 4, NULL));
	app_launch1(sums, N, 64);
	app_launch1(sums, N / 2, 32);
	app_digest_buffer(b, N * 4);
	app_arg_mem(ratios, 0, a);
	app_arg_mem(ratios, 1, b);
	CHECK(clSetKernelArg(ratios, 2, 64 * 4, NULL));
	app_launch1(ratios, N, 64);
	app_digest_buffer(b, N * 4);
	CHECK(clReleaseKernel(ratios));
	CHECK(clReleaseKernel(ramp));
	CHECK(clReleaseKernel(sums));
	CHECK(clReleaseMemObject(a));
	CHECK(clReleaseMemObject(b));
}

static void build_and_run(cl_program p, const char *options)
{
	CHECK(clBuildProgram(p, 1, &app_device, options, NULL, NULL));
	run(p);
	CHECK(clReleaseProgram(p));
}

int main(int argc, char **argv)
{
	clCreateProgramWithILKHR_fn create;
	const void *module;
	cl_program p;
	size_t size;
	cl_int err;

	app_open();
	module = app_il(argc > 1 ? argv[1] : getenv("GPUBPF_TEST_IL"), &size);
	p = clCreateProgramWithIL(app_context, module, size, &err);
	CHECK(err);
	build_and_run(p, "");
	create = clGetExtensionFunctionAddressForPlatform(app_platform, "clCreateProgramWithILKHR");
	if (create) {
		p = create(app_context, module, size, &err);
		CHECK(err);
		build_and_run(p, "-cl-fast-relaxed-math");
	}
	return app_close();
}
