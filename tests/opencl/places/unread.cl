/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own compiler accepts a function that clang 22 rejects: the kernel runs unprobed, and the reason names the line. */
//@ run: known 64 16 buf:4096
//@ refuses: known mem clang 22 does not understand all of its program (line 11: type specifier missing

__kernel void known(__global int *a)
{
	a[get_global_id(0)] += 1;
}

static never(void)
{
	return 1;
}
