/* SPDX-License-Identifier: Apache-2.0 */
/* Computes Collatz sequences. Later blocks have larger numbers, and take longer than the first blocks. */
#include "opencl.h"

enum { THREADS = 1 << 15, GROUP = 64 };

static const char source[] =
	"__kernel void collatz(__global uint *out)\n"
	"{\n"
	"	uint i = get_global_id(0), rounds = 1 + i / 1024, n = 0;\n"
	"	for (uint r = 0; r < rounds; r++)\n"
	"		for (ulong x = i + 1; x != 1; x = x & 1 ? 3 * x + 1 : x / 2)\n"
	"			n++;\n"
	"	out[i] = n / rounds;\n"
	"}\n";

int main(void)
{
	static cl_uint out[THREADS];
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "collatz");
	cl_mem mem = opencl_buffer(&cl, NULL, sizeof(out));
	cl_uint longest = 0;

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	opencl_run(&cl, kernel, THREADS, GROUP);
	opencl_read(&cl, mem, out, sizeof(out));
	for (size_t i = 0; i < THREADS; i++)
		longest = out[i] > longest ? out[i] : longest;
	printf("collatz: %d threads in groups of %d, the longest sequence has %u steps\n", THREADS, GROUP, longest);
	clReleaseMemObject(mem);
	clReleaseKernel(kernel);
	opencl_stop(&cl);
	return 0;
}
