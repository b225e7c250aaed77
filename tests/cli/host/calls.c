/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls LAUNCHES THREADS: creates and releases an event. Then each of THREADS threads launches a kernel LAUNCHES times.
 * Then the main thread writes and reads a buffer, once through a queue with profiling. Prints a checksum, and exits with
 * status 42.
 */
#include <pthread.h>

#include "opencl.h"

#define N 256

static const char source[] = "__kernel void step_one(__global int *v) { v[get_global_id(0)] += 1; }\n";
static struct opencl cl;
static int launches;

static void *launch(void *arg)
{
	cl_kernel kernel = opencl_kernel(&cl, "step_one");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_int));

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	for (int i = 0; i < launches; i++)
		opencl_run(&cl, kernel, N, 64);
	clFinish(cl.queue);
	clReleaseMemObject(mem);
	clReleaseKernel(kernel);
	return arg;
}

static unsigned int copy(cl_command_queue_properties properties)
{
	cl_command_queue queue = clCreateCommandQueue(cl.context, cl.device, properties, NULL);
	static cl_int v[N];
	unsigned int sum = 0;
	cl_mem mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, sizeof(v), NULL, NULL);

	for (int i = 0; i < N; i++)
		v[i] = i;
	clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL);
	clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL);
	for (int i = 0; i < N; i++)
		sum += v[i];
	clReleaseMemObject(mem);
	clReleaseCommandQueue(queue);
	return sum;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[16];

	launches = argc > 1 ? atoi(argv[1]) : 1;
	cl = opencl_start(source);
	clReleaseEvent(clCreateUserEvent(cl.context, NULL));
	for (int i = 0; i < n && i < 16; i++)
		pthread_create(&threads[i], NULL, launch, NULL);
	for (int i = 0; i < n && i < 16; i++)
		pthread_join(threads[i], NULL);
	printf("sum %u %u\n", copy(0), copy(CL_QUEUE_PROFILING_ENABLE));
	return 42;
}
