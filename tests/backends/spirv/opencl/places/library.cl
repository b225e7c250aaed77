/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in functions of OpenCL C that access memory. */
//@ options: -cl-std=CL2.0
//@ run: halves 64 16 buf:4096 buf:4096
//@ mem: halves mem 640:4992 mem_before 640:4992
//@ refuses: halves mem.all mem.value
//@ run: results 64 16 buf:4096 buf:4096
//@ mem: results mem 768:3072
//@ refuses: results mem.all mem.value
//@ run: advice 64 16 buf:4096 buf:4096
//@ mem: advice mem 192:1536 mem.all 192:1536
//@ told: advice mem prefetches=64 loads=64 stores=64
//@ run: pictures 8,8 8,8 img:16 img:16 buf:4096
//@ mem: pictures mem 64:256
//@ refuses: pictures mem.all an image

__kernel void halves(__global float *a, __global half *h)
{
	size_t i = get_global_id(0);

	vstore_half(a[i], i, h);
	a[i + 64] = vload_half(i + 64, h);
	vstore_half4(vload4(i, a + 256), i, h + 256);
	vstore3(vloada_half3(i, h + 1024), i, a + 512);
	vstore4(vload_half4(i, h + 512), i, a + 768);
}

__kernel void results(__global float *a, __global float *b)
{
	size_t i = get_global_id(0);
	__global int *e = (__global int *)(b + 512);

	b[i] = fract(a[i], &b[i + 64]);
	b[i + 128] = frexp(a[i + 64], &e[i]);
	b[i + 256] = modf(a[i + 128], &b[i + 320]);
	b[i + 384] = remquo(a[i + 192], 3.0f, &e[i + 64]);
}

__kernel void advice(__global int *a, __global int *b)
{
	size_t i = get_global_id(0);

	prefetch(a + i, 4);
	b[i] = a[i];
}

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void pictures(__read_only image2d_t in, __write_only image2d_t out, __global uint *b)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1));
	uint4 c = read_imageui(in, nearest, at);

	write_imageui(out, at, c.yxzw);
	b[at.y * 8 + at.x] = c.x;
}
