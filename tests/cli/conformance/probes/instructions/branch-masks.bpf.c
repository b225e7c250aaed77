/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every conditional branch that the compiler emits. A lane is always in the mask of active lanes. It is in the mask of
 * lanes that take the branch exactly if it takes the branch.
 */
#include "../../case.h"

EXPECT("workload forks");
EXPECT("needs gpu/branch");
EXPECT("needs masks");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("map seen[0] 1");
EXPECT("map seen[1] 0");
EXPECT("checks 320");

GPUBPF_ARRAY(seen, __u64, 2);

SEC("gpu/branch/forks")
int fork(struct gpubpf_ctx *ctx)
{
	__u64 lane = bpf_get_lane_id() & 63, taken = ctx->branch.taken;
	__u64 *met = bpf_map_lookup_elem(&seen, &(__u32){ 0 });
	int wrong = taken > 1 || (ctx->branch.lanes >> lane & 1) != taken || !(ctx->branch.active >> lane & 1) ||
		     (ctx->branch.lanes & ~ctx->branch.active);

	if (met)
		*met = 1;
	gpubpf_add(&seen, 1, wrong);
	return 0;
}

SEC("gpu/exit/forks")
int leave(struct gpubpf_ctx *ctx)
{
	__u64 *met = bpf_map_lookup_elem(&seen, &(__u32){ 0 });

	CHECK(met ? *met : 0, 1);
	return 0;
}
