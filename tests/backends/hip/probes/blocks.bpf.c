/* SPDX-License-Identifier: Apache-2.0 */
/* Per block, sums over its first and last lane, and numbers of entering and exiting lanes; blocks.py checks them. */
#include <gpubpf/probe.h>

#define BLOCKS 16

struct block {
	__u64 begun, first;        /* lanes at block_begin; sum of their ids */
	__u64 entered, left;       /* lanes at the entry and at an exit */
	__u64 ended, last, seen;   /* lanes at block_end; sums of their lane numbers and of `left` at that time */
};
struct blocks {
	struct block of[BLOCKS];
};
GPUBPF_ARRAY(blocks, struct blocks, 1);

SEC("gpu/entry/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct blocks *all = bpf_map_lookup_elem(&blocks, &(__u32){ 0 });
	__u64 i = ctx->block_idx[0] + ctx->grid_dim[0] * ctx->block_idx[1];
	struct block *b;

	if (!all || i >= BLOCKS)
		return 0;
	b = &all->of[i];
	if (ctx->site == GPUBPF_SITE_ENTRY) {
		__sync_fetch_and_add(&b->entered, 1);
	} else if (ctx->site == GPUBPF_SITE_EXIT) {
		__sync_fetch_and_add(&b->left, 1);
	} else if (ctx->site == GPUBPF_SITE_BLOCK_BEGIN) {
		__sync_fetch_and_add(&b->begun, 1);
		__sync_fetch_and_add(&b->first, ctx->thread_idx[0] + ctx->thread_idx[1] + ctx->thread_idx[2] + 1000 * ctx->arg[2]);
	} else {
		__sync_fetch_and_add(&b->ended, 1);
		__sync_fetch_and_add(&b->last, bpf_get_lane_id());
		__sync_fetch_and_add(&b->seen, __sync_fetch_and_add(&b->left, 0));
	}
	return 0;
}
