/* SPDX-License-Identifier: Apache-2.0 */
/* A called function whose parameters are declared as arrays. */
//@ run: arrays 16 16 buf:4096 buf:4096
//@ mem: arrays call 16:0 call_exit 16:0
__attribute__((noinline)) static int both(int p[4], const int q[])
{
	p[1] = q[0];
	return p[0] + q[1];
}

__kernel void arrays(__global int *a, __global int *b)
{
	int kept[4] = { 1, 2, 3, 4 };

	b[get_global_id(0)] = both(kept, kept + 2) + kept[1] + a[0];
}
