/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that other kernels call have places like functions. Callers of a kernel with local memory see no place. */
//@ run: inner 64 32 buf:256 buf:256
//@ mem: inner mem 96:384 branch 64:0 call 32:0 call_exit 32:0
//@ run: outer 64 32 buf:256 buf:256
//@ mem: outer mem 256:1024 branch 128:0 call 192:0 call_exit 192:0 call.sum 64:0
//@ run: of_shares 32 32 buf:128
//@ mem: of_shares call 32:0 call_exit 32:0
//@ refuses: of_shares mem it calls kernel shares, which declares __local variables
int sum(int a, int b)
{
	return a + b;
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void inner(__global int *a, const __global int *b)
{
	if (get_global_id(0) % 2)
		return;
	a[get_global_id(0)] = sum(a[get_global_id(0)], b[get_global_id(0)]);
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void outer(__global int *a, __global int *b)
{
	b[get_global_id(0)] = 1;
	inner(a, b);
	inner(b, a);
}

__kernel void shares(__global int *a)
{
	__local int s[32];

	s[get_local_id(0)] = a[get_global_id(0)];
	a[get_global_id(0)] = s[get_local_id(0)] + 1;
}

__kernel void of_shares(__global int *a)
{
	shares(a);
}
