/* SPDX-License-Identifier: Apache-2.0 */
/* Called functions with two arguments and a result: numbers, a pointer, and a float with two
 * return statements. One function calls another, and two kernels call the same function. */
//@ run: calls 64 16 buf:256 buf:256
//@ mem: calls call 256:0 call_exit 256:0 call.sum 128:0 call_exit.sum 128:0 call_exit.scaled 64:0
//@ told: calls call values=512
//@ told: calls call.sum operands=4224 olds=2400
//@ told: calls call_exit.sum operands=4224 olds=2400 values=6624
//@ told: calls call_exit.scaled olds=2016 values=69789024256
//@ run: outer 64 16 buf:256 buf:256
//@ mem: outer call 128:0 call_exit 128:0 call.sum 64:0 call_exit.sum 64:0
//@ told: outer call_exit.sum operands=2016 olds=2016 values=4032
//@ told: outer call_exit values=8128
__attribute__((noinline)) static uint sum(uint a, uint b)
{
	return a + b;
}

__attribute__((noinline)) static void put(__global uint *p, uint v)
{
	*p = v;
}

__attribute__((noinline)) static float scaled(float x, uint n)
{
	if (n % 2)
		return x * 2;
	return x;
}

__attribute__((noinline)) static uint twice(uint n, uint m)
{
	return sum(n, n) + m;
}

__kernel void calls(__global uint *a, __global float *f)
{
	uint i = (uint)get_global_id(0), s = sum(i, 3);

	s = sum(s, s);
	put(a + i, s);
	f[i] = scaled(i, i);
}

__kernel void outer(__global uint *a, __global uint *b)
{
	uint i = (uint)get_global_id(0);

	b[i] = twice(i, 1);
}
