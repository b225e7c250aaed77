// SPDX-License-Identifier: Apache-2.0
/* A histogram of 16 slots; half of all numbers fall into one slot. */
kernel void histogram(global const uint *from, global uint *to)
{
	uint v = from[get_global_id(0)];

	atomic_inc((volatile global uint *)&to[v % 2 ? 3 : v / 2 % 16]);
}
