/* SPDX-License-Identifier: Apache-2.0 */
/* app THREADS: launches a kernel for each line on its standard input, and prints the sum of the kernel's results. */
#include "opencl.h"

static const char source[] = "__kernel void work(__global ulong *v) { v[get_global_id(0)] = get_global_id(0) + 1; }\n";

int main(int argc, char **argv)
{
	size_t n = (size_t)atol(argv[1]);
	cl_ulong *v = calloc(n, sizeof(*v)), sum;
	struct opencl cl = opencl_start(source);
	cl_kernel work = opencl_kernel(&cl, "work");
	cl_mem buffer = opencl_buffer(&cl, v, n * sizeof(*v));
	char line[64];

	clSetKernelArg(work, 0, sizeof(buffer), &buffer);
	while (fgets(line, sizeof(line), stdin)) {
		opencl_run(&cl, work, n, 16);
		opencl_read(&cl, buffer, v, n * sizeof(*v));
		sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += v[i];
		printf("%lu\n", (unsigned long)sum);
		fflush(stdout);
	}
	clReleaseMemObject(buffer);
	clReleaseKernel(work);
	opencl_stop(&cl);
	free(v);
	return 0;
}
