/* SPDX-License-Identifier: Apache-2.0 */
// visible functions: the loader patches their addresses
// launch 64 1 1 64 1 1
// options -O2 -g
//> def once(x): return told('once', [x], x * 5 & M)
//> def k(i):
//>     once(i), once(i + 9), mem('S', 4)
//>     if i % WAVE == 0: mem('L', 8)
__attribute__((visibility("default"))) NOINLINE uint once(uint x)
{
	return x * 5;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	out[i] = once(i) + once(i + 9);
}
