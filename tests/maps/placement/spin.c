/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches a GPU kernel that runs until the end of standard input. It has many blocks, and each waits for a word of the
 * host. Each line of input releases STEP more blocks, so that other blocks start.
 */
#include "opencl.h"

#include <unistd.h>

#define BLOCKS 8192 /* more blocks than a CPU runs at once */
#define STEP 1024

static const char source[] =
	"__kernel void spin(__global volatile int *go, __global int *done) {\n"
	"	while (go[0] <= (int)get_group_id(0));\n"
	"	if (get_global_id(0) == 0) done[0] = 1;\n"
	"}\n";

int main(void)
{
	static volatile cl_int go[1024];
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "spin");
	cl_mem done = opencl_buffer(&cl, NULL, sizeof(cl_int)), word;
	size_t blocks = BLOCKS, one = 1;
	cl_int err, ended = 0;
	char c;

	word = clCreateBuffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof(go), (void *)go, &err);
	check(err, "clCreateBuffer");
	check(clSetKernelArg(kernel, 0, sizeof(word), &word), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(done), &done), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &blocks, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	clFlush(cl.queue);
	while (read(0, &c, 1) > 0)
		go[0] += STEP;
	go[0] = BLOCKS;
	opencl_read(&cl, done, &ended, sizeof(ended));
	printf("ended %d\n", ended);
	return 0;
}
