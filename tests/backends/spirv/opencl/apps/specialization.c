/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialization constants: programs from one module that set none, some, or all of the constants. argv[1] is the
 * module (specialization.cl).
 */
#include "app.h"

enum { N = 1024 };

static void run(cl_program p)
{
	cl_mem sums = app_buffer(N * 8, NULL), scaled = app_buffer(N * 4, NULL);
	cl_kernel special = app_kernel(p, "special");

	app_arg_mem(special, 0, sums);
	app_arg_mem(special, 1, scaled);
	app_launch1(special, N, 32);
	app_digest_buffer(sums, N * 8);
	app_digest_buffer(scaled, N * 4);
	CHECK(clReleaseKernel(special));
	CHECK(clReleaseMemObject(sums));
	CHECK(clReleaseMemObject(scaled));
}

static cl_program create(int argc, char **argv)
{
	size_t size;
	const void *module = app_il(argc > 1 ? argv[1] : getenv("GPUBPF_TEST_SPECIALIZATION"), &size);
	cl_int err;
	cl_program p = clCreateProgramWithIL(app_context, module, size, &err);

	CHECK(err);
	return p;
}

static void specialize(cl_program p, unsigned from, cl_uchar yes)
{
	cl_uint by = 1000 + from;
	cl_uchar small = 200 + from;
	cl_ushort middle = 60000 + from;
	cl_ulong large = 0x123456789abcdef0ull + from;
	cl_float scale = 1.25f + from;

	CHECK(clSetProgramSpecializationConstant(p, 0, sizeof(by), &by));
	CHECK(clSetProgramSpecializationConstant(p, 1, sizeof(yes), &yes));
	CHECK(clSetProgramSpecializationConstant(p, 3, sizeof(middle), &middle));
	if (from < 10) /* the constants below keep their values from the module */
		return;
	CHECK(clSetProgramSpecializationConstant(p, 2, sizeof(small), &small));
	CHECK(clSetProgramSpecializationConstant(p, 4, sizeof(large), &large));
	CHECK(clSetProgramSpecializationConstant(p, 5, sizeof(scale), &scale));
}

static void build_and_run(cl_program p)
{
	CHECK(clBuildProgram(p, 1, &app_device, "", NULL, NULL));
	run(p);
}

int main(int argc, char **argv)
{
	cl_program p;

	app_open();
	p = create(argc, argv);
	build_and_run(p);
#ifdef AGAIN /* builds again with other values; runtimes differ in whether that has an effect */
	specialize(p, 20, 1);
	build_and_run(p);
#endif
	CHECK(clReleaseProgram(p));
	for (unsigned i = 0; i < 4; i++) {
		p = create(argc, argv);
		specialize(p, 5 * i, i != 2);
		specialize(p, 5 * i + 1, i != 2); /* replaces the values set before */
		build_and_run(p);
		CHECK(clReleaseProgram(p));
	}
	return app_close();
}
