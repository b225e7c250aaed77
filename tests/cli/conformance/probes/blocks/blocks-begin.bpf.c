/* SPDX-License-Identifier: Apache-2.0 */
/* A gpu/block_begin program runs once per block, in the block's first thread, before the kernel's code. */
#include "../../case.h"

EXPECT("workload meets");
EXPECT("needs gpu/block_begin");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 5");
EXPECT("map begun[4] 1");

GPUBPF_ARRAY(begun, __u64, 5);

SEC("gpu/block_begin/meets")
int begin(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&begun, (__u32)ctx->block_idx[0], 1);
	CHECK(ctx->thread_idx[0], 0);
	return 0;
}
