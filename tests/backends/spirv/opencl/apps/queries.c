/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an application's queries and errors. The digest includes every answer and every error code. */
#include "app.h"

#include <unistd.h>

enum { N = 256 };

static const char source[] =
	"typedef struct { int a; float b; } both_t;\n"
	"__kernel __attribute__((vec_type_hint(float4))) void ask(__global float4 *out, const both_t both,\n"
	"	__constant int *table, __local int *tile, uint n)\n"
	"{ tile[get_local_id(0)] = table[0]; out[get_global_id(0)] = (float4)(both.a + tile[get_local_id(0)] + n); }\n";

static void note_int(cl_int v)
{
	printf("%d\n", v);
}

static void note_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i])
			printf("%s%x", i && text[i - 1] ? "" : " ", (unsigned char)text[i]);
	putchar('\n');
}

static void kernel_answers(cl_kernel k)
{
	static const cl_kernel_info infos[] = { CL_KERNEL_FUNCTION_NAME, CL_KERNEL_NUM_ARGS, CL_KERNEL_REFERENCE_COUNT,
						CL_KERNEL_ATTRIBUTES };
	static const cl_kernel_arg_info args[] = { CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_NAME,
						   CL_KERNEL_ARG_ADDRESS_QUALIFIER };
	static const cl_kernel_work_group_info groups[] = { CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_LOCAL_MEM_SIZE,
		CL_KERNEL_PRIVATE_MEM_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
		CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE };
	char text[1024];
	size_t size;

	for (int i = 0; i < 4; i++) {
		memset(text, 0, sizeof(text));
		note_int(clGetKernelInfo(k, infos[i], sizeof(text), text, &size));
		note_text(text, sizeof(text));
	}
	for (cl_uint a = 0; a < 6; a++)
		for (int i = 0; i < 3; i++) {
			memset(text, 0, sizeof(text));
			note_int(clGetKernelArgInfo(k, a, args[i], sizeof(text), text, &size));
			note_text(text, sizeof(text));
		}
	for (int i = 0; i < 5; i++) {
		memset(text, 0, sizeof(text));
		note_int(clGetKernelWorkGroupInfo(k, app_device, groups[i], sizeof(text), text, &size));
		note_text(text, sizeof(text));
	}
}

/* Waits until PoCL has released a launched kernel, which it does in another thread after the launch has ended. */
static void wait_for_release(cl_kernel k)
{
	cl_uint references = 0;

	for (int i = 0; i < 10000 && references != 1; i++) {
		CHECK(clGetKernelInfo(k, CL_KERNEL_REFERENCE_COUNT, sizeof(references), &references, NULL));
		usleep(1000);
	}
}

static void program_answers(cl_program p)
{
	static const cl_program_info infos[] = { CL_PROGRAM_REFERENCE_COUNT, CL_PROGRAM_NUM_DEVICES, CL_PROGRAM_SOURCE,
		CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_NUM_KERNELS, CL_PROGRAM_KERNEL_NAMES };
	char text[4096];
	size_t size;

	for (int i = 0; i < 6; i++) {
		memset(text, 0, sizeof(text));
		note_int(clGetProgramInfo(p, infos[i], sizeof(text), text, &size));
		note_text(text, sizeof(text));
	}
	memset(text, 0, sizeof(text));
	note_int(clGetProgramBuildInfo(p, app_device, CL_PROGRAM_BUILD_OPTIONS, sizeof(text), text, &size));
	note_text(text, sizeof(text));
}

static void context_answers(void)
{
	cl_uint n = 0;

	note_int(clGetContextInfo(app_context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL));
	note_int(n);
	note_int(clGetContextInfo(app_context, CL_CONTEXT_NUM_DEVICES, sizeof(n), &n, NULL));
	note_int(n);
}

static cl_int launch(cl_kernel k, size_t global, size_t local)
{
	cl_int err = clEnqueueNDRangeKernel(app_queue, k, 1, NULL, &global, &local, 0, NULL, NULL);

	if (!err)
		app_count(k, 1, &global);
	return err;
}

static void errors(cl_program p, cl_kernel k)
{
	size_t global = N;
	cl_uint n = 3;
	cl_int err = 0;

	note_int(clCreateKernel(p, "no_such_kernel", &err) != NULL);
	note_int(err);
	note_int(clSetKernelArg(k, 77, sizeof(n), &n));
	note_int(launch(k, N, 1 << 30));
	note_int(clEnqueueNDRangeKernel(app_queue, k, 9, NULL, &global, NULL, 0, NULL, NULL));
	note_int(clEnqueueNDRangeKernel(NULL, k, 1, NULL, &global, NULL, 0, NULL, NULL));
	note_int(clBuildProgram(p, 1, &app_device, "-DNEW=1", NULL, NULL)); /* it has kernels */
}

int main(void)
{
	struct { cl_int a; cl_float b; } both = { 5, 6 };
	cl_int table[4] = { 1, 2, 3, 4 };
	cl_program p;
	cl_kernel k;
	cl_mem out, constants;

	app_open();
	p = app_program(source, "-cl-kernel-arg-info -DX=1");
	k = app_kernel(p, "ask");
	out = app_buffer(N * 16, NULL);
	constants = app_buffer(sizeof(table), table);
	kernel_answers(k);
	note_int(launch(k, N, 16)); /* no arguments yet */
	app_arg_mem(k, 0, out);
	CHECK(clSetKernelArg(k, 1, sizeof(both), &both));
	app_arg_mem(k, 2, constants);
	CHECK(clSetKernelArg(k, 3, 64 * 4, NULL));
	note_int(launch(k, N, 16)); /* fails, because the last argument is not set */
	app_arg_u32(k, 4, 9);
	note_int(launch(k, N, 16));
	context_answers();
	errors(p, k);
	note_int(launch(k, N, 32));
	app_digest_buffer(out, N * 16);
	wait_for_release(k);
	kernel_answers(k);
	program_answers(p);
	CHECK(clRetainKernel(k));
	kernel_answers(k);
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(p));
	CHECK(clReleaseMemObject(out));
	CHECK(clReleaseMemObject(constants));
	context_answers();
	return app_close();
}
