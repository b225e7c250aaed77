// SPDX-License-Identifier: Apache-2.0
/* Reads every eighth number of 4096, repeatedly, and writes adjacent numbers. */
kernel void strided(global const uint *from, global uint *to)
{
	size_t i = get_global_id(0);

	to[i] = from[i * 8 % 4096];
}
