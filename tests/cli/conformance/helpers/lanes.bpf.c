/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ballot contains the lanes that vote yes, and not the lanes that vote no. gpubpf_delay() waits at least as long as
 * requested. This wait is not checked on devices without a clock, for example OpenCL devices if no kernel is probed.
 */
#include "../case.h"

EXPECT("launch 3,1,1 40,1,1");
EXPECT("checks 600");

SEC("gpu/entry/*")
int lanes(struct gpubpf_ctx *ctx)
{
	__u64 own = 1ull << bpf_get_lane_id();

	CHECK(bpf_get_warp_id() <= ctx->thread_idx[0], 1);
	CHECK(bpf_warp_ballot(own) & own, own);
	CHECK(bpf_warp_ballot(0), 0);
	CHECK(bpf_warp_match(7) & own, own);
	CHECK(gpubpf_delay(1000) >= 1000 || !bpf_ktime_get_ns(), 1);
	return 0;
}
