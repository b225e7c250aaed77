/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 3.1, which clang 22 does not know: kernels that read and write one image, and that use group functions. */
//@ options: -cl-std=CL3.1
//@ run: pictured 64 16 img:8
//@ run: grouped 64 16 buf:256
//@ barrier: grouped

kernel void pictured(read_write image2d_t picture)
{
	int2 at = (int2)(get_global_id(0) % 8, get_global_id(0) / 8);

	write_imageui(picture, at, read_imageui(picture, at) + 1u);
}

kernel void grouped(global int *out)
{
	local atomic_uint n;
	int i = get_global_id(0);

	if (!get_local_id(0))
		atomic_init(&n, 0u);
	work_group_barrier(CLK_LOCAL_MEM_FENCE);
	atomic_fetch_add_explicit(&n, 2u, memory_order_relaxed, memory_scope_work_group);
	work_group_barrier(CLK_LOCAL_MEM_FENCE);
	out[i] = work_group_reduce_add(i) + work_group_scan_exclusive_max(i) + atomic_load_explicit(&n, memory_order_relaxed, memory_scope_work_group);
}
