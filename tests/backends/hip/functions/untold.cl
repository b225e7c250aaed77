/* SPDX-License-Identifier: Apache-2.0 */
// without debug information the arguments of functions are unknown, but calls can be counted
// launch 64 1 1 64 1 1
// options -g0
// refused call: reads an argument that the debug information (-g) does not describe
// refused call_exit: or a result that the debug information (-g) does not describe
//> def k(i): told('once', [i], i + 1), mem('S', 4)
NOINLINE uint once(uint x)
{
	return x + 1;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = once(ID);
}
