/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime's own compiler takes, and clang 22 does not understand: the kernel says so, and where, and runs as it is. */
//@ run: known 64 16 buf:4096
//@ refuses: known mem clang 22 does not understand all of its program (line 14: use of undeclared identifier 'nothing')

__kernel void known(__global int *a)
{
	a[get_global_id(0)] += 1;
}

#if __clang_major__ == 22
int never(void)
{
	return nothing;
}
#endif
