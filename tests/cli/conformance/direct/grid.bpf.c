/* SPDX-License-Identifier: Apache-2.0 */
/* A direct run in three dimensions: each thread finds its own word. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 2,3,2 4,2,1");
EXPECT("data 768");
EXPECT("checks 480");
EXPECT("word 0 100");
EXPECT("word 50 150");
EXPECT("word 95 195");
EXPECT("result 0");

SEC("gpu/run/grid")
int grid(struct gpubpf_ctx *ctx)
{
	__u64 x = ctx->block_idx[0] * 4 + ctx->thread_idx[0], y = ctx->block_idx[1] * 2 + ctx->thread_idx[1];
	__u64 number = (ctx->block_idx[2] * 6 + y) * 8 + x, *word = gpubpf_data(number * 8, 8);

	CHECK(ctx->global_linear, number);
	CHECK(ctx->grid_dim[1], 3);
	CHECK(ctx->block_dim[0], 4);
	CHECK(word ? *word : 99, number);
	CHECK(ctx->work_dim, 3);
	if (word)
		*word += 100;
	return 0;
}
