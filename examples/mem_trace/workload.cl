// SPDX-License-Identifier: Apache-2.0
/* Transposes a matrix of 64 by 64: reads rows, writes columns. */
kernel void transpose(global const uint *from, global uint *to)
{
	size_t i = get_global_id(0);

	to[i % 64 * 64 + i / 64] = from[i];
}
