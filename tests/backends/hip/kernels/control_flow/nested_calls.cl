/* SPDX-License-Identifier: Apache-2.0 */
// functions that call functions, with live values in callee-saved registers
// launch 320 1 1 64 1 1
NOINLINE uint low(uint x)
{
	return x * 2654435761u >> 3;
}

NOINLINE uint high(uint x, uint y)
{
	return low(x) + low(y ^ low(x + y));
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, a = high(in[i], i);

	out[i] = a + high(a, in[i + 1]);
}
