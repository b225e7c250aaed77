/* SPDX-License-Identifier: Apache-2.0 */
/* Three small kernels for changed.py. */

//@ run: vadd 1024 64 buf:4096 buf:4096 buf:4096
kernel void vadd(global const float *a, global const float *b, global float *c)
{
	size_t i = get_global_id(0);

	c[i] = a[i] + b[i];
}

//@ run: scale 1024 64 buf:4096
kernel void scale(global float *a)
{
	a[get_global_id(0)] *= 2.0f;
}

//@ run: shift 1024 64 buf:4096
kernel void shift(global float *a)
{
	a[get_global_id(0)] += 1.0f;
}
