/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app LAUNCHES [SECONDS]: two threads launch kernels into a queue each, which the application profiles itself. Each thread
 * writes a buffer before and reads it after its launches. Prints for each kernel the number of launches and their time:
 * `kernel NAME launches N ns M`. With SECONDS, the application then launches kernels for that time. Ends with status 42.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "opencl.h"

#define N 4096

static const char source[] = "kernel void slow(global uint *v) { uint x = v[get_global_id(0)];"
			     " for (int i = 0; i < 2000; i++) x = x * 3 + 1; v[get_global_id(0)] = x; }\n"
			     "kernel void fast(global uint *v) { v[get_global_id(0)]++; }\n";
static struct opencl cl;
static int launches;

struct worker {
	pthread_t thread;
	const char *name;
	unsigned long long ns;
};

static unsigned long long event_ns(cl_event event)
{
	cl_ulong start = 0, end = 0;

	clWaitForEvents(1, &event);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
	clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	clReleaseEvent(event);
	return end - start;
}

static void *work(void *arg)
{
	cl_uint *v = calloc(N, sizeof(*v));
	struct worker *w = arg;
	size_t global = N, local = 64;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem mem;

	pthread_setname_np(pthread_self(), w->name);
	queue = clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, NULL);
	mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, N * sizeof(cl_uint), NULL, NULL);
	kernel = opencl_kernel(&cl, w->name);
	clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, N * sizeof(*v), v, 0, NULL, NULL);
	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	for (int i = 0; i < launches; i++) {
		cl_event event;

		check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event), "launch");
		w->ns += event_ns(event);
	}
	clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, N * sizeof(*v), v, 0, NULL, NULL);
	free(v);
	clReleaseKernel(kernel);
	clReleaseMemObject(mem);
	clReleaseCommandQueue(queue);
	return arg;
}

static void launch_for(int seconds)
{
	time_t until = time(NULL) + seconds;
	cl_kernel kernel = opencl_kernel(&cl, "fast");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_uint));

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	while (time(NULL) < until) {
		opencl_run(&cl, kernel, N, 64);
		clFinish(cl.queue);
		usleep(5000);
	}
}

int main(int argc, char **argv)
{
	struct worker workers[] = { { .name = "slow" }, { .name = "fast" } };

	launches = argc > 1 ? atoi(argv[1]) : 1;
	cl = opencl_start(source);
	for (int i = 0; i < 2; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < 2; i++)
		printf("kernel %s launches %d ns %llu\n", workers[i].name, launches, workers[i].ns);
	fflush(stdout);
	if (argc > 2)
		launch_for(atoi(argv[2]));
	return 42;
}
