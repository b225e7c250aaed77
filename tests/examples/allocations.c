/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that are given addresses as numbers: of nothing, of a buffer, of the same when it is freed, of shared virtual
 * memory, of the same when it is freed. */
#include "opencl.h"

static const char source[] =
	"kernel void look(global uint *data, ulong address, global ulong *out) { data[0] += 1; out[0] = (ulong)data; }\n";

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
	/* the kernel holds no argument that was freed */
	look(&cl, kernel, first, address, out);
	shared = clSVMAlloc(cl.context, CL_MEM_READ_WRITE, 12288, 0);
	look(&cl, kernel, first, (cl_ulong)shared, out);
	clSVMFree(cl.context, shared);
	look(&cl, kernel, first, (cl_ulong)shared, out);
	printf("%s\n", shared ? "all" : "no shared virtual memory");
	clReleaseMemObject(first);
	clReleaseMemObject(out);
	clReleaseKernel(kernel);
	opencl_stop(&cl);
	return 0;
}
