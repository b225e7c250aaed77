/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 3.1, which clang 22 does not know, with functions and types of OpenCL C 2.0. */
//@ options: -cl-std=CL3.1

//@ run: newer 64 16 buf:512
//@ mem: newer mem 128:512
kernel void newer(global int *out)
{
	size_t i = get_global_id(0);

	out[i] = 2;
#if __OPENCL_C_VERSION__ == 310
	out[i + 64] = 3;
#endif
}

//@ run: groups 64 16 buf:256 buf:256
//@ mem: groups mem 128:512 barrier 64:0
kernel void groups(global int *out, global const int *in)
{
	size_t i = get_global_id(0);
	int v = in[i];

	out[i] = work_group_reduce_add(v) + work_group_broadcast(v, 3) + work_group_scan_inclusive_max(v) + work_group_any(v > 3);
	work_group_barrier(CLK_GLOBAL_MEM_FENCE);
}

//@ run: counted 64 16 buf:256 buf:8
//@ mem: counted mem 192:768 atomic 128:512
kernel void counted(global int *out, volatile global atomic_uint *n)
{
	atomic_fetch_add_explicit(n, 1u, memory_order_relaxed, memory_scope_device);
	atomic_fetch_max_explicit(n + 1, (uint)get_global_id(0), memory_order_relaxed, memory_scope_device);
	out[get_global_id(0)] = 1;
}

//@ run: apart 64 16 buf:256 buf:256
//@ mem: apart mem 128:512
kernel void apart(global int *out, __attribute__((nosvm)) global int *in)
{
	out[get_global_id(0)] = in[get_global_id(0)] + 1;
}
