/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many programs in several contexts, released so that their handles are reused. Different kernels have the same name.
 * Some programs are built again with other options, or with errors. Some are released before their kernels are
 * launched.
 */
#include "app.h"

#include <stdbool.h>
#include <unistd.h>

enum { CONTEXTS = 3, PROGRAMS = 6, N = 256 };

static const char source[] =
	"__kernel void step_it(__global uint *data) { data[get_global_id(0)] = data[get_global_id(0)] * 3 + STEP; }\n"
	"__kernel void mix_it(__global uint *data, uint with)\n"
	"{ uint i = get_global_id(0); data[i] ^= (data[i] >> 3) + with * STEP; }\n";

static void launch(cl_command_queue queue, cl_kernel k)
{
	size_t global = N;

	CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, NULL, 0, NULL, NULL));
	CHECK(clFinish(queue));
	app_count(k, 1, &global);
}

static void run_kernels(cl_program program, bool leave, cl_command_queue queue, cl_mem data)
{
	cl_kernel kernels[2];
	cl_uint n = 0;

	CHECK(clCreateKernelsInProgram(program, 2, kernels, &n));
	if (leave) /* the kernels keep the program alive */
		CHECK(clReleaseProgram(program));
	for (cl_uint i = 0; i < n; i++) {
		cl_uint args;

		app_arg_mem(kernels[i], 0, data);
		CHECK(clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof(args), &args, NULL));
		if (args > 1)
			app_arg_u32(kernels[i], 1, 17);
		launch(queue, kernels[i]);
		CHECK(clReleaseKernel(kernels[i]));
	}
}

/*
 * Returns how many file descriptors of twins are open. The agent must close them, because the descriptors of the
 * process belong to the application.
 */
static int twins_open(void)
{
	char path[32], to[64] = "";
	int n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n += readlink(path, to, sizeof(to) - 1) > 0 && !strncmp(to, "/memfd:gpubpf-twin", 18);
	}
	return n;
}

static void CL_CALLBACK built(cl_program program, void *called)
{
	*(volatile bool *)called = true;
}

/* OpenCL does not rebuild a program that has kernels: these must continue to work unchanged. */
static void refused_builds(cl_program program, cl_command_queue queue, cl_mem data)
{
	bool called = false;
	cl_int err;
	cl_kernel k = clCreateKernel(program, "step_it", &err);

	CHECK(err);
	printf("a program with kernels, built again: %d\n",
	       clBuildProgram(program, 1, &app_device, "-DSTEP=1000", NULL, NULL));
	printf("with a callback: %d\n", clBuildProgram(program, 0, NULL, "-DSTEP=1000", built, &called));
	app_arg_mem(k, 0, data);
	launch(queue, k);
	CHECK(clReleaseKernel(k));
}

static void run_program(cl_context context, cl_command_queue queue, cl_mem data, int i)
{
	const char *text = source;
	char options[64];
	cl_int err;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, &err);

	CHECK(err);
	snprintf(options, sizeof(options), "-D STEP=%d", i + 1);
	CHECK(clBuildProgram(p, 0, NULL, options, NULL, NULL));
	run_kernels(p, i % 3 == 1, queue, data);
	if (i % 3 == 0) {
		CHECK(clBuildProgram(p, 1, &app_device, "-DSTEP=100", NULL, NULL));
		run_kernels(p, false, queue, data);
	}
	if (i % 3 == 2)
		refused_builds(p, queue, data);
	printf("left open: %d\n", twins_open());
	if (i % 3 != 1)
		CHECK(clReleaseProgram(p));
}

static void run_context(void)
{
	uint32_t out[N];
	cl_int err;
	cl_context context = clCreateContext(NULL, 1, &app_device, NULL, NULL, &err);
	cl_command_queue queue = clCreateCommandQueue(context, app_device, 0, &err);
	cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(out), NULL, &err);

	for (int i = 0; i < N; i++)
		out[i] = i;
	CHECK(clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL));
	for (int i = 0; i < PROGRAMS; i++)
		run_program(context, queue, data, i);
	CHECK(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL));
	app_digest(out, sizeof(out));
	CHECK(clReleaseContext(context)); /* the objects of the context keep it alive */
	CHECK(clReleaseMemObject(data));
	CHECK(clReleaseCommandQueue(queue));
}

int main(void)
{
	app_open();
	for (int i = 0; i < CONTEXTS; i++)
		run_context();
	return app_close();
}
