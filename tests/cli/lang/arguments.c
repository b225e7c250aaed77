/* SPDX-License-Identifier: Apache-2.0 */
/* An application with three kernels: two have a parameter n, of different types and positions, and one has no n. */
#include "opencl.h"

#define N 64

static const char source[] =
	"typedef struct { int x, y; } pair;\n"
	"__kernel void mixed(__global int *v, char tiny, ushort mid, int n, uint large, long wide, float f, pair both)\n"
	"{ v[get_global_id(0)] = tiny + mid + n + (int)large + (int)wide + (int)f + both.y; }\n"
	"__kernel void other(int n, __global int *v) { v[get_global_id(0)] += n; }\n"
	"__kernel void none(__global int *v) { v[get_global_id(0)] += 1; }\n";

int main(void)
{
	struct opencl cl = opencl_start(source);
	cl_kernel mixed = opencl_kernel(&cl, "mixed"), other = opencl_kernel(&cl, "other"),
		  none = opencl_kernel(&cl, "none");
	cl_mem mem = opencl_buffer(&cl, NULL, N * sizeof(cl_int));
	cl_char tiny = -3;
	cl_ushort mid = 65000;
	cl_int n = -100000, v[N];
	cl_uint large = 4000000000u;
	cl_long wide = -10000000000;
	cl_float f = 1.5;
	struct {
		cl_int x, y;
	} both = { 11, 22 };
	const struct {
		size_t size;
		const void *value;
	} args[] = { { sizeof(mem), &mem },     { sizeof(tiny), &tiny }, { sizeof(mid), &mid }, { sizeof(n), &n },
		     { sizeof(large), &large }, { sizeof(wide), &wide }, { sizeof(f), &f },     { sizeof(both), &both } };

	for (cl_uint i = 0; i < sizeof(args) / sizeof(args[0]); i++)
		check(clSetKernelArg(mixed, i, args[i].size, args[i].value), "clSetKernelArg");
	n = 7;
	clSetKernelArg(other, 0, sizeof(n), &n);
	clSetKernelArg(other, 1, sizeof(mem), &mem);
	clSetKernelArg(none, 0, sizeof(mem), &mem);
	opencl_run(&cl, mixed, N, 0);
	opencl_run(&cl, other, N, 0);
	opencl_run(&cl, none, N, 0);
	opencl_read(&cl, mem, v, sizeof(v));
	printf("%d\n", v[N - 1]);
	return 42;
}
