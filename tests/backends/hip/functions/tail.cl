/* SPDX-License-Identifier: Apache-2.0 */
// a function that ends with a tail call
// launch 64 1 1 64 1 1
// options -O2 -g
// refused call_exit: function first: it ends in a tail call, so its callee returns
//> def last(x): return told('last', [x], x * 3 & M)
//> def first(x):
//>     mem('S', 4)
//>     return told('first', [None, x], last(x + 7))
//> def k(i): first(i), last(i), mem('S', 4)
NOINLINE uint last(uint x)
{
	return x * 3;
}

NOINLINE uint first(global uint *p, uint x)
{
	*p = x;
	return last(x + 7);
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	out[i] = first(out + 64 + i, i) + last(i);
}
