/* SPDX-License-Identifier: Apache-2.0 */
__kernel void scale(__global uint *data, uint factor)
{
	uint i = get_global_id(0);

	data[i] = data[i] * factor + i;
}

__kernel void add(__global const uint *a, __global const uint *b, __global uint *sum)
{
	uint i = get_global_id(0);

	sum[i] = a[i] + b[i];
}

__kernel void halves(__global const float *in, __global float *out)
{
	uint i = get_global_id(0);

	out[i] = in[i] * 0.5f;
}

__kernel void relax(__global const uint *from, __global uint *to, uint n)
{
	uint i = get_global_id(0), least = from[i];

	if (least && i > 0 && from[i - 1])
		least = min(least, from[i - 1]);
	if (least && i + 1 < n && from[i + 1])
		least = min(least, from[i + 1]);
	to[i] = least;
}

__kernel void totals(__global const uint *in, __global uint *out, __local uint *part)
{
	uint i = get_local_id(0);

	part[i] = in[get_global_id(0)];
	for (uint n = get_local_size(0) / 2; n; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < n)
			part[i] += part[i + n];
	}
	if (!i)
		out[get_group_id(0)] = part[0];
}

struct point {
	float x, y;
	uint weight[5];
};

__kernel void moves(__global float *to, struct point by, float4 more, __global const uint *maybe)
{
	uint i = get_global_id(0);

	to[i] = i * by.x + by.y + by.weight[i % 5] + more.s1 * more.s3 + (maybe ? maybe[i] : 7);
}

struct list {
	__global struct list *next;
	uint value;
};

__kernel void walk(__global const struct list *from, __global uint *out)
{
	uint sum = 0;

	for (; from; from = from->next)
		sum = sum * 31 + from->value + get_global_id(0);
	out[get_global_id(0)] = sum;
}

__kernel void places(__global ulong *out, uint n)
{
	uint i = (get_global_id(2) * n + get_global_id(1)) * n + get_global_id(0);

	out[i] = get_global_id(0) + get_global_id(1) * 1000 + get_global_id(2) * 1000000 +
		 get_local_id(1) * 100000000ul + get_group_id(2) * 10000000000ul;
}
