/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread of a three-dimensional launch reads its block and thread coordinates. */
#include "../../case.h"

EXPECT("workload plain");
EXPECT("launch 3,2,2 5,4,3");
EXPECT("checks 5760");

SEC("gpu/entry/plain")
int grid(struct gpubpf_ctx *ctx)
{
	__u64 width = ctx->grid_dim[0] * ctx->block_dim[0], height = ctx->grid_dim[1] * ctx->block_dim[1];

	CHECK(ctx->grid_dim[0] << 8 | ctx->grid_dim[1] << 4 | ctx->grid_dim[2], 0x322);
	CHECK(ctx->block_dim[0] << 8 | ctx->block_dim[1] << 4 | ctx->block_dim[2], 0x543);
	CHECK(ctx->global_id[0], ctx->block_idx[0] * ctx->block_dim[0] + ctx->thread_idx[0]);
	CHECK(ctx->global_id[1], ctx->block_idx[1] * ctx->block_dim[1] + ctx->thread_idx[1]);
	CHECK(ctx->global_id[2], ctx->block_idx[2] * ctx->block_dim[2] + ctx->thread_idx[2]);
	CHECK(ctx->global_linear, (ctx->global_id[2] * height + ctx->global_id[1]) * width + ctx->global_id[0]);
	CHECK(ctx->work_dim, 3);
	CHECK(ctx->kernel_name[0] << 8 | ctx->kernel_name[5], 'p' << 8);
	return 0;
}
