/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_buffer LAUNCHES [change]: launches one kernel directly and one in a command buffer, and prints their results.
 * With `change`, arguments and size change between launches of the buffer (cl_khr_command_buffer_mutable_dispatch). The
 * exit status is 77 if the extension is missing.
 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <string.h>

#include "opencl.h"

#define N 1024

static const char source[] =
	"__kernel void step_one(__global int *v) { size_t i = get_global_id(0); v[i] += (int)i; }\n"
	"__kernel void step_two(__global int *v) { size_t i = get_global_id(0); v[i] = v[i] * 3 + 1; }\n";

/* the struct of cl_khr_command_buffer_mutable_dispatch 0.9.2 and later; Debian's headers have an older one */
struct dispatch_change {
	cl_mutable_command_khr command;
	cl_uint nargs, nsvm_args, ninfos, dim;
	const struct {
		cl_uint index;
		size_t size;
		const void *value;
	} *args;
	const void *svm_args, *infos;
	const size_t *offset, *global, *local;
};
typedef cl_int (CL_API_CALL *update_fn)(cl_command_buffer_khr buffer, cl_uint n, const cl_uint *types,
					const void **changes);
enum { DISPATCH_CHANGE, CHANGES_ARGUMENTS = 1 << 3, CHANGES_SIZE = 1 << 1 };

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

/* For launch i, changes the recorded launch: to the other buffer, or to half of the work-items. */
static void change_launch(cl_command_buffer_khr buffer, cl_mutable_command_khr command, update_fn update,
			  const cl_mem mems[2], int i)
{
	const struct { cl_uint index; size_t size; const void *value; } arg = { 0, sizeof(cl_mem), &mems[i & 1] };
	size_t global = i & 2 ? N / 2 : N;
	struct dispatch_change change = {
		.command = command, .nargs = 1, .dim = 1, .args = (const void *)&arg, .global = &global,
	};
	const void *changes[] = { &change };
	cl_uint type = DISPATCH_CHANGE;

	check(update(buffer, 1, &type, changes), "clUpdateMutableCommandsKHR");
}

/* The launches use the two buffers mems[] alternately. If mems is NULL, the recorded launch does not change. */
static void launch_recorded(const struct opencl *cl, cl_kernel kernel, int launches, const cl_mem *mems)
{
	update_fn update = mems ? (update_fn)find(cl->device, "clUpdateMutableCommandsKHR") : NULL;
	const cl_command_buffer_properties_khr mutable[] = { CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0 };
	const cl_ndrange_kernel_command_properties_khr fields[] = {
		CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, CHANGES_ARGUMENTS | CHANGES_SIZE, 0,
	};
	cl_mutable_command_khr command = NULL;
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

	buffer = create(1, &cl->queue, update ? mutable : NULL, &err);
	check(err, "clCreateCommandBufferKHR");
	check(record(buffer, NULL, update ? fields : NULL, kernel, 1, NULL, &global, &local, 0, NULL, NULL,
		     update ? &command : NULL), "clCommandNDRangeKernelKHR");
	check(finalize(buffer), "clFinalizeCommandBufferKHR");
	check(clReleaseKernel(kernel), "clReleaseKernel");
	check(retain(buffer), "clRetainCommandBufferKHR");
	check(release(buffer), "clReleaseCommandBufferKHR");
	for (int i = 0; i < launches; i++) {
		if (update)
			change_launch(buffer, command, update, mems, i);
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
	cl_mem mems[2] = { opencl_buffer(&cl, NULL, N * sizeof(cl_int)), opencl_buffer(&cl, NULL, N * sizeof(cl_int)) };
	static cl_int v[N];
	unsigned int sum = 0;

	clSetKernelArg(one, 0, sizeof(mems[0]), &mems[0]);
	clSetKernelArg(two, 0, sizeof(mems[0]), &mems[0]);
	opencl_run(&cl, one, N, 64);
	launch_recorded(&cl, two, launches, argc > 2 ? mems : NULL);
	opencl_run(&cl, one, N, 64);
	for (int m = 0; m < 2; m++) {
		opencl_read(&cl, mems[m], v, sizeof(v));
		for (int i = 0; i < N; i++)
			sum = sum * 31 + v[i];
	}
	printf("%d launches: %08x\n", launches, sum);
	return 42;
}
