/* SPDX-License-Identifier: Apache-2.0 */
// calls through pointers from a table in the original code object
// launch 320 1 1 64 1 1
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

#ifndef CALLED
#define CALLED(n) 0 // functions/pointers.cl defines a direct call here
#endif

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
	out[ID] = function(in[ID]) + CALLED(n);
}
