/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that is always running: the next launch is enqueued before the last but one has ended, until it is killed. */
#include "opencl.h"

#define N 1024

static const char source[] =
	"__kernel void step_on(__global int *v) { size_t i = get_global_id(0); for (int n = 0; n < 100; n++) v[i] = v[i] * 3 + (int)i; }\n";

int main(void)
{
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "step_on");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_int));
	size_t global = N, local = 64;
	cl_event before = NULL;

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	for (;;) {
		cl_event now;

		check(clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &global, &local, 0, NULL, &now), "clEnqueueNDRangeKernel");
		clFlush(cl.queue);
		if (before)
			clWaitForEvents(1, &before);
		if (before)
			clReleaseEvent(before);
		before = now;
	}
}
