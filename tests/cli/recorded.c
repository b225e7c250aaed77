/* SPDX-License-Identifier: Apache-2.0 */
/* recorded LAUNCHES: one kernel launched by itself, and one in a command buffer; prints what they computed.
 * 77: there is no cl_khr_command_buffer. */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <string.h>

#include "opencl.h"

#define N 1024

static const char source[] =
	"__kernel void step_one(__global int *v) { size_t i = get_global_id(0); v[i] += (int)i; }\n"
	"__kernel void step_two(__global int *v) { size_t i = get_global_id(0); v[i] = v[i] * 3 + 1; }\n";

static void *find(cl_device_id device, const char *name)
{
	cl_platform_id platform;
	void *function;

	check(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL), "clGetDeviceInfo");
	function = clGetExtensionFunctionAddressForPlatform(platform, name);
	if (!function)
		exit(77);
	return function;
}

static void launch_recorded(const struct opencl *cl, cl_kernel kernel, int launches)
{
	clCreateCommandBufferKHR_fn create = (clCreateCommandBufferKHR_fn)find(cl->device, "clCreateCommandBufferKHR");
	clRetainCommandBufferKHR_fn retain = (clRetainCommandBufferKHR_fn)find(cl->device, "clRetainCommandBufferKHR");
	clReleaseCommandBufferKHR_fn release =
		(clReleaseCommandBufferKHR_fn)find(cl->device, "clReleaseCommandBufferKHR");
	clFinalizeCommandBufferKHR_fn finalize =
		(clFinalizeCommandBufferKHR_fn)find(cl->device, "clFinalizeCommandBufferKHR");
	clCommandNDRangeKernelKHR_fn record =
		(clCommandNDRangeKernelKHR_fn)find(cl->device, "clCommandNDRangeKernelKHR");
	clEnqueueCommandBufferKHR_fn enqueue =
		(clEnqueueCommandBufferKHR_fn)find(cl->device, "clEnqueueCommandBufferKHR");
	size_t global = N, local = 64;
	cl_command_buffer_khr buffer;
	cl_int err;

	buffer = create(1, &cl->queue, NULL, &err);
	check(err, "clCreateCommandBufferKHR");
	check(record(buffer, NULL, NULL, kernel, 1, NULL, &global, &local, 0, NULL, NULL, NULL),
	      "clCommandNDRangeKernelKHR");
	check(finalize(buffer), "clFinalizeCommandBufferKHR");
	check(clReleaseKernel(kernel), "clReleaseKernel");
	check(retain(buffer), "clRetainCommandBufferKHR");
	check(release(buffer), "clReleaseCommandBufferKHR");
	for (int i = 0; i < launches; i++) {
		check(enqueue(0, NULL, buffer, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
		check(clFinish(cl->queue), "clFinish");
	}
	check(release(buffer), "clReleaseCommandBufferKHR");
}

int main(int argc, char **argv)
{
	int launches = argc > 1 ? atoi(argv[1]) : 1;
	struct opencl cl = opencl_start(source);
	cl_kernel one = opencl_kernel(&cl, "step_one"), two = opencl_kernel(&cl, "step_two");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_int));
	static cl_int v[N];
	unsigned int sum = 0;

	clSetKernelArg(one, 0, sizeof(mem), &mem);
	clSetKernelArg(two, 0, sizeof(mem), &mem);
	opencl_run(&cl, one, N, 64);
	launch_recorded(&cl, two, launches);
	opencl_run(&cl, one, N, 64);
	opencl_read(&cl, mem, v, sizeof(v));
	for (int i = 0; i < N; i++)
		sum = sum * 31 + v[i];
	printf("%d launches: %08x\n", launches, sum);
	return 42;
}
