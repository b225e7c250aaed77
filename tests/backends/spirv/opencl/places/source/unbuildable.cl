/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose twin's text or wrapper does not compile. The other kernels must keep their probes. */
//@ run: before 64 32 buf:256
//@ mem: before mem 128:512
//@ run: taken 64 32 buf:256
//@ refuses: taken mem incompatible integer to pointer
//@ run: named 64 32 buf:256
//@ refuses: named mem conflicting types
//@ run: behind 64 32 buf:256
//@ mem: behind mem 128:512
__kernel void before(__global int *p)
{
	p[get_global_id(0)] += 1;
}

#define gpubpf_at 5
__kernel void taken(__global int *p)
{
	p[get_global_id(0)] += 2;
}
#undef gpubpf_at

__kernel void gpubpf_twin_named(__global int *p)
{
	p[0] = 1;
}

__kernel void named(__global int *p)
{
	p[get_global_id(0)] += 2;
}

__kernel void behind(__global int *p)
{
	p[get_global_id(0)] += 3;
}
