/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's compiler accepts this function, clang 22 rejects it: the kernel runs unprobed, with a reason. */
//@ run: known 64 16 buf:4096
//@ refuses: known mem clang 22 does not understand the whole OpenCL source (line 11: type specifier missing

__kernel void known(__global int *a)
{
	a[get_global_id(0)] += 1;
}

static never(void)
{
	return 1;
}
