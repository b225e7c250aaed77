/* SPDX-License-Identifier: Apache-2.0 */
// functions that call other functions; some lanes call more often than others
// launch 320 1 1 64 1 1
// options -O1 -g
// options -O2 -g
// options -O3 -g
//> def low(x, y): return told('low', [x, y], x * 2654435761 + y & M)
//> def high(x, y):
//>     mem('L', 4), mem('S', 4)
//>     return told('high', [None, x, y], low(x, 1) + low(y ^ low(x + y & M, 3), 5 << 32 | 7) & M)
//> def k(i):
//>     mem('L', 4)
//>     for j in range(IN(i) & 3):
//>         high(IN(i), i + j)
//>     mem('S', 4)
NOINLINE uint low(uint x, ulong y)
{
	return x * 2654435761u + (uint)y;
}

NOINLINE uint high(global uint *p, uint x, uint y)
{
	p[320] += x;
	return low(x, 1) + low(y ^ low(x + y, 3), 5ul << 32 | 7);
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, x = in[i], sum = 0;

	for (uint j = 0; j < (x & 3); j++)
		sum += high(out + i, x, i + j);
	out[i] = sum;
}
