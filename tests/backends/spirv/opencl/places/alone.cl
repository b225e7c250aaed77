/* SPDX-License-Identifier: Apache-2.0 */
/* A function that contains all places of the kernel. Its argument is equal in all lanes. */
//@ run: alone 64 32 buf:256
//@ mem: alone mem.plain 128:0 call 64:0 call_exit 64:0
__attribute__((noinline)) static void three(__global uint *a)
{
	a[get_global_id(0)] += 3;
}

__kernel void alone(__global uint *a)
{
	three(a);
}
