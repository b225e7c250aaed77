// SPDX-License-Identifier: Apache-2.0
/* A matrix of 64 by 64: rows are read, columns written. */
kernel void transpose(global const uint *from, global uint *to)
{
	size_t i = get_global_id(0);

	to[i % 64 * 64 + i / 64] = from[i];
}
