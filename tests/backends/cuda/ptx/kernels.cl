/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose PTX has typical compiler output: switches, local arrays, calls, barriers, vectors, constants. */
__constant float weights[4] = { 0.5f, 1.5f, -2.5f, 1e-10f };

__attribute__((noinline)) int collatz(ulong n)
{
	int steps = 0;

	for (; n != 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

__kernel void early(__global int *out, int n)
{
	size_t i = get_global_id(0);

	if (i >= n)
		return;
	out[i] = collatz(i + 1);
}

__kernel void choose(__global float *out, __global const int *what)
{
	size_t i = get_global_id(0);
	float local_copy[8];

	for (int k = 0; k < 8; k++)
		local_copy[k] = out[i + k];
	switch (what[i]) {
	case 0: out[i] = weights[i & 3]; break;
	case 1: out[i] += 2; return;
	case 2: out[i] *= out[i]; break;
	case 3: out[i] = local_copy[what[i + 1] & 7]; break;
	case 4: out[i] -= 7; return;
	default: out[i] = 0;
	}
	out[i] += 1;
}

__kernel void reduce(__global float4 *out, __global const float4 *in, __local float4 *tile)
{
	int i = get_local_id(0);

	tile[i] = in[get_global_id(0)];
	for (int half_size = get_local_size(0) / 2; half_size; half_size /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < half_size)
			tile[i] += tile[i + half_size];
	}
	if (!i)
		out[get_group_id(0)] = tile[0];
}
