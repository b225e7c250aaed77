/* SPDX-License-Identifier: Apache-2.0 */
/* Computes escape times of the Mandelbrot set. Work-groups inside the set take many times as long as other groups. */
#include "opencl.h"

enum { WIDTH = 512, HEIGHT = 256, GROUP = 64 };

static const char source[] =
	"__kernel void mandelbrot(__global uint *out, uint width, uint height)\n"
	"{\n"
	"	uint i = get_global_id(0), n = 0;\n"
	"	float cx = 3.0f * (i % width) / width - 2.0f, cy = 2.0f * (i / width) / height - 1.0f;\n"
	"	float x = 0, y = 0;\n"
	"	for (; n < 4000 && x * x + y * y < 4; n++) {\n"
	"		float t = x * x - y * y + cx;\n"
	"		y = 2 * x * y + cy;\n"
	"		x = t;\n"
	"	}\n"
	"	out[i] = n;\n"
	"}\n";

int main(void)
{
	static cl_uint out[WIDTH * HEIGHT];
	struct opencl cl = opencl_start(source);
	cl_kernel kernel = opencl_kernel(&cl, "mandelbrot");
	cl_mem mem = opencl_buffer(&cl, NULL, sizeof(out));
	cl_uint width = WIDTH, height = HEIGHT, inside = 0;

	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	clSetKernelArg(kernel, 1, sizeof(width), &width);
	clSetKernelArg(kernel, 2, sizeof(height), &height);
	opencl_run(&cl, kernel, WIDTH * HEIGHT, GROUP);
	opencl_read(&cl, mem, out, sizeof(out));
	for (size_t i = 0; i < WIDTH * HEIGHT; i++)
		inside += out[i] == 4000;
	printf("mandelbrot: %d threads in groups of %d, %u points inside\n", WIDTH * HEIGHT, GROUP, inside);
	clReleaseMemObject(mem);
	clReleaseKernel(kernel);
	opencl_stop(&cl);
	return 0;
}
