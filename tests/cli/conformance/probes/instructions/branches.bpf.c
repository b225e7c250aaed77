/* SPDX-License-Identifier: Apache-2.0 */
/* Every conditional branch that the compiler emits: each lane takes some branches and falls through at others. */
#include "../../case.h"

EXPECT("workload forks");
EXPECT("needs gpu/branch");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("map seen[0] 1");
EXPECT("map seen[1] 1");
EXPECT("map seen[2] 0");

GPUBPF_ARRAY(seen, __u64, 3);

SEC("gpu/branch/forks")
int fork(struct gpubpf_ctx *ctx)
{
	__u32 taken = ctx->branch.taken > 1 ? 2 : ctx->branch.taken;
	__u64 *met = bpf_map_lookup_elem(&seen, &taken);

	if (met)
		*met = 1;
	return 0;
}
