/* SPDX-License-Identifier: Apache-2.0 */
/* A partitioned device: one context and one program for two sub-devices, with a queue and launches on each. */
#include "app.h"

enum { N = 1024 };

static const char source[] =
	"__kernel void part(__global uint *data, uint with) { data[get_global_id(0)] += with + get_local_size(0); }\n";

int main(void)
{
	cl_device_partition_property how[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
	cl_command_queue queues[2];
	cl_device_id parts[64];
	const char *text = source;
	uint32_t out[N] = { 0 };
	size_t global = N, local = 64;
	cl_program program;
	cl_context context;
	cl_uint n = 0;
	cl_kernel k;
	cl_mem data;
	cl_int err;

	app_open();
	if (clCreateSubDevices(app_device, how, 64, parts, &n) || n < 2)
		app_lacks("sub-devices");
	context = clCreateContext(NULL, 2, parts, NULL, NULL, &err);
	CHECK(err);
	data = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(out), out, &err);
	CHECK(err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	CHECK(err);
	CHECK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
	k = app_kernel(program, "part");
	app_arg_mem(k, 0, data);
	for (uint32_t i = 0; i < 2; i++) {
		queues[i] = clCreateCommandQueue(context, parts[i], 0, &err);
		CHECK(err);
		for (uint32_t r = 0; r < 5; r++) {
			app_arg_u32(k, 1, i * 100 + r);
			CHECK(clEnqueueNDRangeKernel(queues[i], k, 1, NULL, &global, &local, 0, NULL, NULL));
			CHECK(clFinish(queues[i]));
			app_count(k, 1, &global);
		}
	}
	CHECK(clEnqueueReadBuffer(queues[0], data, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL));
	app_digest(out, sizeof(out));
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(data));
	for (int i = 0; i < 2; i++)
		CHECK(clReleaseCommandQueue(queues[i]));
	/* The program does not release the context and its sub-devices: PoCL 3.1 releases a command's
	 * event after the waiting call has returned, and crashes if they no longer exist. */
	return app_close();
}
