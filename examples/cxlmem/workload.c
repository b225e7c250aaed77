/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "inside.h"

/*
 * Two kernels in short launches: one work-item follows links in an unpredictable order, and all work-items sum a
 * buffer. The fastest launch of each counts. The program prints the time per step and the bytes per second on standard
 * error.
 */
enum { LINES = 1 << 18, LINE = 16, STEPS = 500, SUMMED = 1 << 10, ITEMS = 1 << 8, BLOCK = 64, ROUNDS = 100 };

static const char source[] =
	"kernel void chase(global const uint *from, global uint *to, uint n)\n"
	"{\n"
	"	uint at = to[0];\n"
	"\n"
	"	for (uint i = 0; i < n; i++)\n"
	"		at = from[at];\n"
	"	to[0] = at;\n"
	"}\n"
	"kernel void stream(global const uint16 *from, global uint *to, uint n)\n"
	"{\n"
	"	uint16 sum = 0;\n"
	"\n"
	"	for (uint i = get_global_id(0); i < n; i += get_global_size(0))\n"
	"		sum += from[i];\n"
	"	to[get_global_id(0)] = sum.s0 + sum.s7 + sum.sf;\n"
	"}\n";

/* Returns the time of the fastest launch in ns. */
static double quickest(struct opencl *cl, const char *name, cl_mem from, cl_mem to, unsigned n, size_t items)
{
	cl_kernel kernel = opencl_kernel(cl, name);
	struct timespec begin, end;
	double least = 1e18;

	check(clSetKernelArg(kernel, 0, sizeof(from), &from), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(to), &to), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(n), &n), "clSetKernelArg");
	for (int round = 0; round < ROUNDS; round++) {
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		opencl_run(cl, kernel, items, items < BLOCK ? items : BLOCK);
		check(clFinish(cl->queue), "clFinish");
		clock_gettime(CLOCK_MONOTONIC, &end);
		ns = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
		least = ns < least ? ns : least;
	}
	clReleaseKernel(kernel);
	return least;
}

int main(void)
{
	struct opencl cl = opencl_start(source);
	unsigned *data = calloc(LINES * LINE, sizeof(*data)), end, sum = 0;
	cl_mem from, to;

	/* This visits all lines in one cycle, because a - 1 is a multiple of 4 and c is odd. */
	for (unsigned i = 0, at = 0; i < LINES; i++, at = data[at])
		data[at] = (at / LINE * 1664525 + 1013904223) % LINES * LINE;
	from = opencl_buffer(&cl, data, LINES * LINE * sizeof(*data));
	to = opencl_buffer(&cl, NULL, ITEMS * sizeof(*data));
	fprintf(stderr, "chase: %.0f ns a step\n", quickest(&cl, "chase", from, to, STEPS, 1) / STEPS);
	opencl_read(&cl, to, &end, sizeof(end));
	fprintf(stderr, "stream: %.0f MB/s\n",
		SUMMED * LINE * sizeof(*data) / quickest(&cl, "stream", from, to, SUMMED, ITEMS) * 1e3);
	opencl_read(&cl, to, data, ITEMS * sizeof(*data));
	for (unsigned i = 0; i < ITEMS; i++)
		sum = sum * 31 + data[i];
	printf("cxlmem: %u %u\n", end, sum);
	opencl_stop(&cl);
	free(data);
	return 0;
}
