/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL C 2.0 atomics on atomic types. Loads and stores count as accesses, not as atomics. Counted by hand. */
//@ options: -cl-std=CL2.0
//@ run: orders 64 16 buf:4096 buf:4096
//@ mem: orders mem 448:1792 atomic 192:768
//@ told: orders mem loads=64 stores=192
//@ run: shared 64 16 buf:4096 buf:4096
//@ mem: shared mem 64:512 mem.shared 132:528 atomic 64:256

__kernel void orders(__global atomic_int *a, __global int *b)
{
	int i = get_global_id(0), old;

	atomic_init(&a[i], i);
	atomic_store(&a[i], i + 5);
	atomic_fetch_add(&a[i], 3);
	old = atomic_fetch_max_explicit(&a[i], 20, memory_order_relaxed, memory_scope_device);
	old += atomic_exchange_explicit(&a[i], 7, memory_order_acq_rel, memory_scope_work_group);
	b[i] = atomic_load_explicit(&a[i], memory_order_acquire, memory_scope_device) + old;
}

/* atomics in local memory, which the first lane of the work-group initialises */
__kernel void shared(__global ulong *a, __global int *b)
{
	__local atomic_uint n;

	if (!get_local_id(0))
		atomic_init(&n, 0);
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_fetch_or_explicit(&n, 1u << get_local_id(0), memory_order_relaxed, memory_scope_work_group);
	barrier(CLK_LOCAL_MEM_FENCE);
	a[get_global_id(0)] = atomic_load(&n);
}
