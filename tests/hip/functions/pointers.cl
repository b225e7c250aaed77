/* SPDX-License-Identifier: Apache-2.0 */
// functions by pointers, which may be any
// launch 64 1 1 64 1 1
// refused call call_exit mem: it calls functions by pointers, or by addresses that it keeps in memory
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

NOINLINE uint twice(uint x)
{
	return 2 * x;
}

NOINLINE uint thrice(uint x)
{
	return 3 * x;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint (*function)(uint) = n & 1 ? twice : thrice;

	__asm__ volatile("" : "+v"(function));
	out[ID] = function(in[ID]) + twice(n);
}
