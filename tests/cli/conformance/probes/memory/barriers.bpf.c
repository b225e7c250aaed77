/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread arrives at the block's barrier once, and leaves the barrier once afterwards. */
#include "../../case.h"

EXPECT("workload meets");
EXPECT("needs gpu/barrier");
EXPECT("needs gpu/barrier_exit");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 1600");

GPUBPF_PER_THREAD(waits, __u64);

SEC("gpu/barrier/meets")
int before(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&waits, &key);

	if (at)
		*at += 1;
	CHECK(ctx->barrier.kind, GPUBPF_BARRIER_BLOCK);
	CHECK(ctx->barrier.id, 0);
	return 0;
}

SEC("gpu/barrier_exit/meets")
int behind(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&waits, &key);

	CHECK(at ? *at : 0, 1);
	CHECK(ctx->barrier.kind, GPUBPF_BARRIER_BLOCK);
	CHECK(ctx->barrier.id, 0);
	return 0;
}
