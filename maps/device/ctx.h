/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the fields of the probe context whose source is DEVICE (core/model/ctx_fields.def). */
#ifndef GPUBPF_MAPS_CTX_H
#define GPUBPF_MAPS_CTX_H

#include "machine.h"

GPUBPF_FN u64 gpubpf_ctx_work_dim(u32 i)
{
	return gpubpf_dims();
}

GPUBPF_FN u64 gpubpf_ctx_grid_dim(u32 i)
{
	return gpubpf_grid_dim_at(i);
}

GPUBPF_FN u64 gpubpf_ctx_block_dim(u32 i)
{
	return gpubpf_block_dim_at(i);
}

GPUBPF_FN u64 gpubpf_ctx_block_idx(u32 i)
{
	return gpubpf_block_idx_at(i);
}

GPUBPF_FN u64 gpubpf_ctx_thread_idx(u32 i)
{
	return gpubpf_thread_idx_at(i);
}

GPUBPF_FN u64 gpubpf_ctx_global_id(u32 i)
{
	return gpubpf_global_id_at(i);
}

GPUBPF_FN u64 gpubpf_ctx_global_offset(u32 i)
{
	return gpubpf_offset_at(i);
}

/*
 * Return the linear index of the thread in the launch. Dimension 0 varies fastest, as in get_global_linear_id() (OpenCL
 * C 2.0, 6.13.1).
 */
GPUBPF_FN u64 gpubpf_ctx_global_linear(u32 i)
{
	u64 x = gpubpf_global_id_at(0) - gpubpf_offset_at(0);
#ifdef GPUBPF_KNOWS_LINE
	if (gpubpf_is_line())
		return x;
#endif
	u64 y = gpubpf_global_id_at(1) - gpubpf_offset_at(1);
	u64 z = gpubpf_global_id_at(2) - gpubpf_offset_at(2);

	return (z * gpubpf_global_size_at(1) + y) * gpubpf_global_size_at(0) + x;
}

#endif
