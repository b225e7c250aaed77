/* SPDX-License-Identifier: Apache-2.0 */
/* All threads insert many more keys than an LRU_HASH holds: no insertion fails, and the table is full at the end. */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 512");
EXPECT("entries table 32");
EXPECT("drops table 0");

GPUBPF_MAP(table, BPF_MAP_TYPE_LRU_HASH, __u64, __u64, 32);

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;

	CHECK(bpf_map_update_elem(&table, &me, &me, BPF_ANY), 0);
	return 0;
}
