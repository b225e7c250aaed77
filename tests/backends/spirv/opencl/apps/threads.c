/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads build, set arguments and launch at the same time: each with its own kernels, and all with one kernel
 * whose arguments do not change.
 */
#include "app.h"

#include <pthread.h>

enum { THREADS = 6, ROUNDS = 25, N = 512 };

static const char source[] =
	"__kernel void own(__global uint *data, uint with) { data[get_global_id(0)] += with * get_global_id(0); }\n"
	"__kernel void shared(volatile __global uint *sum) { atomic_add(sum, (uint)get_global_id(0)); }\n";

static cl_program program;
static cl_kernel shared;
static uint32_t results[THREADS][N];

static void launch(cl_command_queue queue, cl_kernel k)
{
	size_t global = N, local = 32;

	CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &global, &local, 0, NULL, NULL));
	app_count(k, 1, &global);
}

static void *work(void *arg)
{
	uint32_t *out = arg;
	cl_int err;
	cl_command_queue queue = clCreateCommandQueue(app_context, app_device, 0, &err);
	cl_mem data = app_buffer(N * 4, NULL);

	CHECK(err);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		cl_kernel own = app_kernel(program, "own");

		app_arg_mem(own, 0, data);
		app_arg_u32(own, 1, i);
		launch(queue, own);
		launch(queue, shared);
		CHECK(clReleaseKernel(own));
	}
	CHECK(clEnqueueReadBuffer(queue, data, CL_TRUE, 0, N * 4, out, 0, NULL, NULL));
	CHECK(clFinish(queue));
	CHECK(clReleaseMemObject(data));
	CHECK(clReleaseCommandQueue(queue));
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	cl_mem sum;

	app_open();
	program = app_program(source, "");
	shared = app_kernel(program, "shared");
	sum = app_buffer(4, NULL);
	app_arg_mem(shared, 0, sum);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, results[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	app_digest(results, sizeof(results));
	app_digest_buffer(sum, 4);
	CHECK(clReleaseKernel(shared));
	CHECK(clReleaseProgram(program));
	CHECK(clReleaseMemObject(sum));
	return app_close();
}
