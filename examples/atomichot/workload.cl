// SPDX-License-Identifier: Apache-2.0
/* Computes a histogram with 16 slots. Half of all numbers fall into one slot. */
kernel void histogram(global const uint *from, global uint *to)
{
	uint v = from[get_global_id(0)];

	atomic_inc((volatile global uint *)&to[v % 2 ? 3 : v / 2 % 16]);
}
