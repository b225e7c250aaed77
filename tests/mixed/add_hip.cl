/* SPDX-License-Identifier: Apache-2.0 */
kernel void add_hip(global uint *to)
{
	__opencl_atomic_fetch_add((global atomic_uint *)to, 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
