/* SPDX-License-Identifier: Apache-2.0 */
// calls a function that reads constants
// launch 640 1 1 64 1 1
constant uint squares[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };

NOINLINE uint helper(uint x, uint y)
{
	for (uint i = 0; i < (x & 7); i++)
		y = y * 3 + squares[(x + i) & 15];
	return y;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	if (ID < n)
		out[ID] = helper(in[ID], ID) + n;
}
