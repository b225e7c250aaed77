/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the blocks on a multiprocessor whenever a block begins. Devices that do not number multiprocessors refuse this
 * program.
 */
#define BLOCK_KEEPS_SM
#include "block.h"

GPUBPF_LINEAR_HIST(blocks_at_once, 0, 65, 1);
struct GPUBPF_ROW resident {
	__u64 blocks;
	struct blocks_at_once at_once;
};
BY_KERNEL(occupancy, struct resident);
GPUBPF_ARRAY(here, __u64, MULTIPROCESSORS) GPUBPF_SCRATCH;

SEC("gpu/entry/*")
GPUBPF_ABOUT("how many blocks a multiprocessor has at once, counted whenever a block of the kernel begins")
int block_begins(struct gpubpf_ctx *ctx)
{
	struct resident *resident = of_kernel(ctx, &occupancy);
	__u32 sm = bpf_get_sm_id();
	__u64 *count = bpf_map_lookup_elem(&here, &sm);

	if (!count || !resident || !is_first_thread(ctx))
		return 0;
	block_comes(ctx);
	gpubpf_count(&resident->blocks, 1);
	gpubpf_observe_in(&resident->at_once, gpubpf_fetch_add(count, 1) + 1);
	return 0;
}

SEC("gpu/exit/*")
int block_ends(struct gpubpf_ctx *ctx)
{
	struct block *block = block_goes(ctx);
	__u64 *count;
	__u32 sm;

	if (!block || !block_was_kept(ctx, block))
		return 0;
	sm = block->sm;
	count = bpf_map_lookup_elem(&here, &sm);
	if (count)
		gpubpf_count(count, -1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
