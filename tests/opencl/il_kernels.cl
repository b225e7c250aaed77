/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled to SPIR-V for il.c. */
__kernel void ramp(__global uint *data, uint by)
{
	data[get_global_id(0)] = get_global_id(0) * by + get_local_id(0);
}

__kernel void sums(__global const uint *in, __global uint *out, __local uint *part)
{
	uint l = get_local_id(0), n = get_local_size(0);

	part[l] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l == 0) {
		uint sum = 0;

		for (uint i = 0; i < n; i++)
			sum += part[i];
		out[get_group_id(0)] += sum;
		return;
	}
	out[get_global_size(0) / 2 + get_group_id(0)] = part[n - 1];
}
