/* SPDX-License-Identifier: Apache-2.0 */
/* Thread coordinates by OpenCL's work-item functions, for OpenCL C text and for SPIR-V. */
#ifndef GPUBPF_MAPS_MACHINE_OPENCL_H
#define GPUBPF_MAPS_MACHINE_OPENCL_H

GPUBPF_FN u64 gpubpf_block_idx_at(u32 i)
{
	return get_group_id(i);
}

GPUBPF_FN u64 gpubpf_block_dim_at(u32 i)
{
	return get_local_size(i);
}

GPUBPF_FN u64 gpubpf_thread_idx_at(u32 i)
{
	return get_local_id(i);
}

GPUBPF_FN u64 gpubpf_grid_dim_at(u32 i)
{
	return get_num_groups(i);
}

GPUBPF_FN u64 gpubpf_offset_at(u32 i)
{
	return get_global_offset(i);
}

GPUBPF_FN u64 gpubpf_global_id_at(u32 i)
{
	return get_global_id(i);
}

GPUBPF_FN u64 gpubpf_global_size_at(u32 i)
{
	return get_global_size(i);
}

GPUBPF_FN u32 gpubpf_dims(void)
{
	return get_work_dim();
}

/*
 * Return a number that distributes work-groups over per-multiprocessor copies, because OpenCL does not report the
 * compute unit. The sum of the coordinates gives neighbours different numbers, like the linear number does, but needs
 * no multiplications.
 */
GPUBPF_FN u32 gpubpf_group_sum(void)
{
	return (u32)get_group_id(0) + (u32)get_group_id(1) + (u32)get_group_id(2);
}

GPUBPF_FN u32 gpubpf_item_linear(void)
{
	return (u32)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}

#endif
