/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases all objects while kernels still run, in several contexts one after the other. OpenCL keeps objects that are
 * in use.
 */
#include "app.h"

#include <unistd.h>

enum { N = 4096, ROUNDS = 4 };

static const char source[] =
	"__kernel void slow(__global uint *data)\n"
	"{ uint x = get_global_id(0); for (int i = 0; i < 100000; i++) x = x * 1664525 + i; data[get_global_id(0)] = x; }\n";

static void CL_CALLBACK count_end(cl_event event, cl_int status, void *ended)
{
	__atomic_fetch_add((int *)ended, 1, __ATOMIC_RELAXED);
}

static void abandon(int *ended)
{
	const char *text = source;
	size_t global = N;
	cl_context context;
	cl_program program;
	cl_command_queue queue;
	cl_kernel slow;
	cl_event event;
	cl_mem data;
	cl_int err;

	context = clCreateContext(NULL, 1, &app_device, NULL, NULL, &err);
	CHECK(err);
	queue = clCreateCommandQueue(context, app_device, 0, &err);
	CHECK(err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	CHECK(err);
	CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
	slow = app_kernel(program, "slow");
	data = clCreateBuffer(context, CL_MEM_READ_WRITE, N * 4, NULL, &err);
	CHECK(err);
	app_arg_mem(slow, 0, data);
	CHECK(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &global, NULL, 0, NULL, &event));
	app_count(slow, 1, &global);
	CHECK(clSetEventCallback(event, CL_COMPLETE, count_end, ended));
	CHECK(clFlush(queue));
	CHECK(clReleaseEvent(event));
	CHECK(clReleaseKernel(slow));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(data));
	CHECK(clReleaseCommandQueue(queue));
	CHECK(clReleaseContext(context));
}

int main(void)
{
	static int ended;

	app_open();
	for (int i = 0; i < ROUNDS; i++)
		abandon(&ended);
	for (int i = 0; i < 1000 && __atomic_load_n(&ended, __ATOMIC_RELAXED) < ROUNDS; i++)
		usleep(20000);
	printf("ended %d\n", ended);
	usleep(100000); /* waits for the other callbacks of the last event */
	return app_close();
}
