/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches a GPU kernel that gets an address as an integer argument. In turn this is an unknown address, a buffer, the
 * released buffer, shared virtual memory, and the released shared virtual memory.
 *
 * A last launch happens while another GPU kernel waits for the host. That launch must not wait for the other kernel.
 */
#include "opencl.h"

#include <unistd.h>

static const char source[] =
	"kernel void look(global uint *data, ulong address, global ulong *out) { data[0] += 1; out[0] = (ulong)data; }\n"
	"kernel void until(global const volatile uint *word) { while (!*word) ; }\n";

/* Launch while another GPU kernel runs, with more work-groups than the device has processors. */
static void launch_during_kernel(const struct opencl *cl, cl_kernel kernel, cl_mem out)
{
	static volatile cl_uint word[1024] __attribute__((aligned(4096)));
	size_t groups = 1024, one = 1;
	cl_int err;
	cl_mem flag = clCreateBuffer(cl->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, sizeof(word), (void *)word, &err);
	cl_command_queue queue = clCreateCommandQueue(cl->context, cl->device, 0, &err);
	cl_kernel until = opencl_kernel(cl, "until");
	cl_mem data = opencl_buffer(cl, NULL, 4096);
	cl_ulong nothing = 0;

	check(clSetKernelArg(until, 0, sizeof(flag), &flag), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(queue, until, 1, NULL, &groups, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	check(clFlush(queue), "clFlush");
	usleep(100000); /* meanwhile the kernel occupies all processors of the device */
	check(clSetKernelArg(kernel, 0, sizeof(data), &data), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(nothing), &nothing), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(out), &out), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	check(clFlush(cl->queue), "clFlush");
	*word = 1;
	check(clFinish(queue), "clFinish");
	check(clFinish(cl->queue), "clFinish");
	clReleaseMemObject(data);
	clReleaseKernel(until);
	clReleaseCommandQueue(queue);
	clReleaseMemObject(flag);
}

static cl_ulong look(const struct opencl *cl, cl_kernel kernel, cl_mem data, cl_ulong address, cl_mem out)
{
	check(clSetKernelArg(kernel, 0, sizeof(data), &data), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(address), &address), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(out), &out), "clSetKernelArg");
	opencl_run(cl, kernel, 1, 1);
	opencl_read(cl, out, &address, sizeof(address));
	return address;
}

int main(void)
{
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "look");
	cl_mem first = opencl_buffer(&cl, NULL, 4096), second = opencl_buffer(&cl, NULL, 8192), out = opencl_buffer(&cl, NULL, 8);
	cl_ulong address = look(&cl, kernel, second, 0, out);
	void *shared;

	look(&cl, kernel, first, address, out);
	clReleaseMemObject(second);
	/* The freed buffer is not an argument of this launch; only its old address is. */
	look(&cl, kernel, first, address, out);
	shared = clSVMAlloc(cl.context, CL_MEM_READ_WRITE, 12288, 0);
	look(&cl, kernel, first, (cl_ulong)shared, out);
	clSVMFree(cl.context, shared);
	look(&cl, kernel, first, (cl_ulong)shared, out);
	launch_during_kernel(&cl, kernel, out);
	printf("%s\n", shared ? "all" : "no shared virtual memory");
	clReleaseMemObject(first);
	clReleaseMemObject(out);
	clReleaseKernel(kernel);
	opencl_stop(&cl);
	return 0;
}
