/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread reads its ids, and each id occurs once. */
#include "../case.h"

EXPECT("launch 5,3,2 4,2,2");
EXPECT("checks 4320"); /* 480 threads */
EXPECT("entries seen 480");

GPUBPF_HASH(seen, __u64, __u32, 1024);

SEC("gpu/entry/*")
int ids(struct gpubpf_ctx *ctx)
{
	__u64 linear = ctx->global_linear, width = ctx->grid_dim[0] * ctx->block_dim[0];
	__u32 one = 1;

	CHECK(ctx->global_id[0], ctx->block_idx[0] * ctx->block_dim[0] + ctx->thread_idx[0]);
	CHECK(ctx->global_id[1], ctx->block_idx[1] * ctx->block_dim[1] + ctx->thread_idx[1]);
	CHECK(ctx->global_id[2], ctx->block_idx[2] * ctx->block_dim[2] + ctx->thread_idx[2]);
	CHECK(linear, (ctx->global_id[2] * ctx->grid_dim[1] * ctx->block_dim[1] + ctx->global_id[1]) * width + ctx->global_id[0]);
	CHECK(ctx->block_idx[0] < 5 && ctx->block_idx[1] < 3 && ctx->block_idx[2] < 2, 1);
	CHECK(ctx->thread_idx[0] < 4 && ctx->thread_idx[1] < 2 && ctx->thread_idx[2] < 2, 1);
	CHECK(ctx->grid_dim[0] << 8 | ctx->grid_dim[1] << 4 | ctx->grid_dim[2], 0x532);
	CHECK(ctx->block_dim[0] << 8 | ctx->block_dim[1] << 4 | ctx->block_dim[2], 0x422);
	CHECK(bpf_map_update_elem(&seen, &linear, &one, BPF_NOEXIST), 0);
	return 0;
}
