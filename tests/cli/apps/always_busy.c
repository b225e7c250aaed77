/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application that always has launches in flight, even on a busy machine: it queues AHEAD launches ahead, until it
 * is killed.
 */
#include "opencl.h"

#define N 1024
#define AHEAD 32

static const char source[] =
	"__kernel void step_on(__global int *v) { size_t i = get_global_id(0); for (int n = 0; n < 1000; n++) v[i] = v[i] * 3 + (int)i; }\n";

int main(void)
{
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "step_on");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_int));
	size_t global = N, local = 64;
	cl_event ahead[AHEAD] = { NULL };

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	for (size_t i = 0;; i = (i + 1) % AHEAD) {
		if (ahead[i]) {
			clWaitForEvents(1, &ahead[i]);
			clReleaseEvent(ahead[i]);
		}
		check(clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &global, &local, 0, NULL, &ahead[i]), "clEnqueueNDRangeKernel");
		clFlush(cl.queue);
	}
}
