/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the blocks whose end the ready-made probes report exactly when the block's last thread leaves. A CPU device
 * that runs the threads of a block in order must count every block.
 */
#include "../../../examples/probes/block_begins.h"

GPUBPF_ARRAY(left, __u64, PLACES);
GPUBPF_ARRAY(ended, __u64, 1);

SEC("gpu/exit/*")
int thread_leaves(struct gpubpf_ctx *ctx)
{
	__u32 i = gpubpf_block_linear(ctx);
	__u64 *mine = bpf_map_lookup_elem(&left, &i), gone = mine ? gpubpf_fetch_add(mine, 1) + 1 : 0;
	struct block *block = block_goes(ctx);

	if (block && block_was_kept(ctx, block) && gone % gpubpf_block_threads(ctx) == 0)
		gpubpf_add(&ended, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
