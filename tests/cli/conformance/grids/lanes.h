/* SPDX-License-Identifier: Apache-2.0 */
/* Each lane votes in a ballot and finds its own bit in the result; each pair of block and thread occurs once. */
#include "../case.h"

EXPECT("checks 3*THREADS");
EXPECT("entries lanes THREADS");

GPUBPF_HASH(lanes, __u64, __u32, 4096);

SEC("gpu/entry/*")
int lane(struct gpubpf_ctx *ctx)
{
	__u64 own = 1ull << (bpf_get_lane_id() & 63), all = bpf_warp_ballot(1);
	__u64 me = ctx->block_idx[0] << 32 | ctx->thread_idx[0];
	__u32 one = 1;

	CHECK(all & own, own);
	CHECK(bpf_get_warp_id() <= ctx->thread_idx[0], 1);
	CHECK(bpf_map_update_elem(&lanes, &me, &one, BPF_NOEXIST), 0);
	return 0;
}
