/* SPDX-License-Identifier: Apache-2.0 */
/* The module has the table of a switch and a variable that kernels write. A twin would have its own copy of the variable. */
//@ run: put 64 32 buf:256
//@ run: get 64 32 buf:256

//@ refuses: put mem writable program-scope variables
//@ refuses: get mem writable program-scope variables
__global uint total = 5;

__kernel void put(__global uint *a)
{
	uint v;

	switch (a[get_global_id(0)] & 3) {
	case 0: v = 11; break;
	case 1: v = 7; break;
	case 2: v = 95; break;
	default: v = 1234;
	}
	atomic_add(&total, v);
}

__kernel void get(__global uint *a)
{
	a[get_global_id(0)] += total;
}
