/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that il.c loads as SPIR-V. */
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

/* Divides and adds floats, with local memory. Build options and vector width must not change the result. */
__kernel void ratios(__global const uint *in, __global float *out, __local float *part)
{
	uint l = get_local_id(0), n = get_local_size(0), g = get_global_id(0);
	float sum = 0.0f;

	part[l] = (in[g] % 1001) * 0.0173f + 0.001f;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < n; i++)
		sum += part[(i * 5 + l) % n] * (1.0f / (part[i] + 0.37f));
	out[g] = sum / (part[l] * 3.0f + 1.1f) * part[(l + 7) % n] + sum * 0.3f - sum / 7.0f;
}
