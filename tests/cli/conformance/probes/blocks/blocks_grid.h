/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs at the begin and end of each block of KERNEL read the coordinates of three-dimensional blocks. The maps hold
 * 8 of the 12 blocks; for the last four the look-up fails, so the program stores nothing.
 */
#include "../../case.h"

EXPECT("workload " KERNEL);
EXPECT("needs gpu/block_begin");
EXPECT("needs gpu/block_end");
EXPECT("launch 3,2,2 4,2,2");
EXPECT("checks 24");
EXPECT("map begun[0] 1");
EXPECT("map begun[4] 18");
EXPECT("map begun[7] 258");
EXPECT("map ended[0] 1");
EXPECT("map ended[4] 18");
EXPECT("map ended[7] 258");

GPUBPF_ARRAY(begun, __u64, 8);
GPUBPF_ARRAY(ended, __u64, 8);

static __always_inline void note(struct gpubpf_ctx *ctx, __u64 *at)
{
	if (at)
		*at = 1 + (ctx->block_idx[2] << 8 | ctx->block_idx[1] << 4 | ctx->block_idx[0]);
}

SEC("gpu/block_begin/" KERNEL)
int begin(struct gpubpf_ctx *ctx)
{
	__u32 block = gpubpf_block_linear(ctx);

	note(ctx, bpf_map_lookup_elem(&begun, &block));
	CHECK(block < 12 && ctx->block_idx[2] * 6 + ctx->block_idx[1] * 3 + ctx->block_idx[0] == block, 1);
	return 0;
}

SEC("gpu/block_end/" KERNEL)
int end(struct gpubpf_ctx *ctx)
{
	__u32 block = gpubpf_block_linear(ctx);

	note(ctx, bpf_map_lookup_elem(&ended, &block));
	CHECK(block < 12 && ctx->block_idx[2] * 6 + ctx->block_idx[1] * 3 + ctx->block_idx[0] == block, 1);
	return 0;
}
