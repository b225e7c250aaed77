/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 1.1 has no static functions: the twin contains copies of functions in addition to the originals. */
//@ options: -cl-std=CL1.1
//@ run: old 64 16 buf:1024
//@ mem: old mem 192:768 branch 128:0 barrier 64:0 call 64:0 call_exit 64:0
//@ run: locals 64 16 buf:1024
//@ mem: locals mem 128:512 mem.shared 128:512 branch 64:0 barrier 64:0 call 64:0 call_exit 64:0

int helper(__global int *o, int v)
{
	return v > 3 ? o[v] : v;
}

__kernel void old(__global int *o)
{
	int i = get_global_id(0);
	int n = helper(o, 128 + (i & 1));

	barrier(CLK_LOCAL_MEM_FENCE);
	if (i >= 0)
		atomic_add(&o[i], 0);
	o[64 + i] = n;
}

__kernel void locals(__global int *o)
{
	__local int t[16];

	t[get_local_id(0)] = helper(o, get_global_id(0) + 4);
	barrier(CLK_LOCAL_MEM_FENCE);
	o[get_global_id(0) + 128] = t[get_local_id(0) ^ 1];
}
