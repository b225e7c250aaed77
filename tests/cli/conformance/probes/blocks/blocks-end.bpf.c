/* SPDX-License-Identifier: Apache-2.0 */
/* A gpu/block_end program runs once per block, after all threads of the block have entered the kernel. */
#include "../../case.h"

EXPECT("workload early");
EXPECT("needs gpu/block_end");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 5");
EXPECT("map ended[4] 1");

GPUBPF_ARRAY(ended, __u64, 5);
GPUBPF_HASH(entered, __u64, __u64, 8);

SEC("gpu/entry/early")
int enter(struct gpubpf_ctx *ctx)
{
	__u64 block = ctx->block_idx[0], none = 0, *n;

	bpf_map_update_elem(&entered, &block, &none, BPF_NOEXIST);
	n = bpf_map_lookup_elem(&entered, &block);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}

SEC("gpu/block_end/early")
int end(struct gpubpf_ctx *ctx)
{
	__u64 block = ctx->block_idx[0], *n = bpf_map_lookup_elem(&entered, &block);

	gpubpf_add(&ended, (__u32)block, 1);
	CHECK(n ? *n : 0, 64);
	return 0;
}
