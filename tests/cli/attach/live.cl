/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of live.c, as the source of the SPIR-V module for the mode il. */
__kernel void add(__global int *a, int n)
{
	a[get_global_id(0)] += n;
}
