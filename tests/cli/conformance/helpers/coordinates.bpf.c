/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers 503, 504, 505 and 508 (block, thread and grid coordinates) and 512 (device id) return the values of the
 * context fields.
 */
#include "../case.h"

EXPECT("launch 3,2,1 4,2,1");
EXPECT("checks 624");

SEC("gpu/entry/*")
int coordinates(struct gpubpf_ctx *ctx)
{
	__u64 block[3], dim[3], thread[3], grid[3];

	bpf_get_block_idx(&block[0], &block[1], &block[2]);
	bpf_get_block_dim(&dim[0], &dim[1], &dim[2]);
	bpf_get_thread_idx(&thread[0], &thread[1], &thread[2]);
	bpf_get_grid_dim(&grid[0], &grid[1], &grid[2]);
#pragma unroll
	for (int i = 0; i < 3; i++) {
		CHECK(block[i], ctx->block_idx[i]);
		CHECK(dim[i], ctx->block_dim[i]);
		CHECK(thread[i], ctx->thread_idx[i]);
		CHECK(grid[i], ctx->grid_dim[i]);
	}
	CHECK(bpf_get_device_id(), ctx->device);
	return 0;
}
