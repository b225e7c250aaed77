// SPDX-License-Identifier: Apache-2.0
/* Each work-group sums 64 numbers. Until the first barrier, only one work-item is busy; until later ones, all are. */
kernel void sum(global const uint *from, global uint *to)
{
	local uint part[64];
	size_t i = get_local_id(0);
	uint v = from[get_global_id(0)];

	if (i == 0)
		for (int k = 0; k < 20000; k++)
			v = v * 1664525 + 1013904223;
	part[i] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (size_t step = 32; step; step /= 2) {
		if (i < step)
			part[i] += part[i + step];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	to[get_global_id(0)] = part[0] + i;
}
