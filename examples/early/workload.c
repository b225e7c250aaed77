/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/*
 * Each number becomes the minimum of itself and its neighbours, 200 times. Zeros do not change; call them walls, and
 * the numbers between two walls a room. In the end all numbers of a room equal its minimum. Small rooms reach this
 * state soon.
 */
enum { N = 16384, BLOCK = 64, ROUNDS = 200 };

static const char source[] =
	"kernel void relax(global const uint *from, global uint *to, uint n)\n"
	"{\n"
	"	uint i = get_global_id(0), least = from[i];\n"
	"\n"
	"	if (least && i > 0 && from[i - 1])\n"
	"		least = min(least, from[i - 1]);\n"
	"	if (least && i + 1 < n && from[i + 1])\n"
	"		least = min(least, from[i + 1]);\n"
	"	to[i] = least;\n"
	"}\n";

int main(void)
{
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "relax");
	unsigned *data = calloc(N, sizeof(*data)), n = N, sum = 0;
	cl_mem buffers[2];

	/* Rooms have 8 numbers at the start and 136 at the end; the numbers fall. */
	for (unsigned i = 0, at = 0; i < N; i++) {
		data[i] = at ? N - at : 0;
		at = at < 8 + i / 128 ? at + 1 : 0;
	}
	for (int i = 0; i < 2; i++)
		buffers[i] = opencl_buffer(&cl, data, N * sizeof(*data));
	for (int round = 0; round < ROUNDS; round++) {
		check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[round % 2]), "clSetKernelArg");
		check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[!(round % 2)]), "clSetKernelArg");
		check(clSetKernelArg(kernel, 2, sizeof(n), &n), "clSetKernelArg");
		opencl_run(&cl, kernel, N, BLOCK);
	}
	opencl_read(&cl, buffers[ROUNDS % 2], data, N * sizeof(*data));
	for (unsigned i = 0; i < N; i++)
		sum = sum * 31 + data[i];
	printf("relax: %u\n", sum);
	opencl_stop(&cl);
	free(data);
	return 0;
}
