/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs from SPIR-V, through clCreateProgramWithIL() and the function of the extension. They are built, or compiled
 * and linked. argv[1] is the module (il_kernels.cl).
 */
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

/* Compiles the module. Links it alone, and with a program from source that has no kernel. */
static void link_and_run(const void *module, size_t size)
{
	const char *text = "int three(void) { return 3; }\n";
	cl_program parts[2], linked;
	cl_int err;

	parts[0] = clCreateProgramWithIL(app_context, module, size, &err);
	CHECK(err);
	parts[1] = clCreateProgramWithSource(app_context, 1, &text, NULL, &err);
	CHECK(err);
	for (cl_uint n = 1; n <= 2; n++) {
		CHECK(clCompileProgram(parts[n - 1], 1, &app_device, "", 0, NULL, NULL, NULL, NULL));
		linked = clLinkProgram(app_context, 1, &app_device, "", n, parts, NULL, NULL, &err);
		CHECK(err);
		run(linked);
		CHECK(clReleaseProgram(linked));
	}
	CHECK(clReleaseProgram(parts[0]));
	CHECK(clReleaseProgram(parts[1]));
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
	link_and_run(module, size);
	create = clGetExtensionFunctionAddressForPlatform(app_platform, "clCreateProgramWithILKHR");
	if (create) {
		p = create(app_context, module, size, &err);
		CHECK(err);
		build_and_run(p, "-cl-fast-relaxed-math");
	}
	return app_close();
}
