/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the blocks that are running. A block counts as running from the entry of its first thread until its first and
 * last thread have left.
 */
#ifndef GPUBPF_EXAMPLES_BLOCK_H
#define GPUBPF_EXAMPLES_BLOCK_H

#include "by_kernel.h"

/*
 * Entries of the table: more than the number of blocks that a device runs at once. If a later block gets the same
 * entry, it replaces the earlier block, which is then not measured.
 */
#define PLACES 16384

struct block {
	__u64 number, start;
#ifdef BLOCK_KEEPS_SM
	__u64 sm; /* number of the multiprocessor at the block's entry; on a CPU it may change later */
#endif
	__u64 gone; /* number of the block's ENDS threads (its first and its last) that have left */
};
GPUBPF_ARRAY(running, struct block, PLACES) GPUBPF_SCRATCH;

/*
 * Returns a unique number of the block: its number in the launch, the launch and the kernel. The number in the launch
 * alone is not unique when launches overlap.
 */
static __always_inline __u64 block_number(const struct gpubpf_ctx *ctx)
{
	return gpubpf_block_linear(ctx) | (ctx->launch & 0xffff) << 32 | (ctx->kernel + 1) << 48;
}

static __always_inline struct block *block_place(const struct gpubpf_ctx *ctx)
{
	__u32 place = (gpubpf_block_linear(ctx) + (ctx->kernel + ctx->launch) * 1021) % PLACES;

	return bpf_map_lookup_elem(&running, &place);
}

static __always_inline void block_comes(const struct gpubpf_ctx *ctx)
{
	struct block *block = block_place(ctx);

	if (!block)
		return;
	block->number = block_number(ctx);
#ifdef BLOCK_KEEPS_SM
	block->sm = bpf_get_sm_id();
#endif
	block->start = bpf_ktime_get_ns();
	bpf_gpu_membar(); /* makes these writes visible before this thread is counted in `gone` */
}

/*
 * Count a thread's exit. Returns the block's entry if this thread is the last of the ENDS threads to leave, else NULL.
 */
static __always_inline struct block *block_goes(const struct gpubpf_ctx *ctx)
{
	struct block *block = block_place(ctx);
	__u64 ends = ends_of(ctx);

	if (!block || !ends || gpubpf_fetch_add(&block->gone, ends) + ends < ENDS)
		return NULL;
	gpubpf_count(&block->gone, -(__u64)ENDS);
	bpf_gpu_membar(); /* makes the first thread's writes visible */
	return block;
}

/* Returns true if the entry still belongs to this block, and not to a later one. Returns true only once per block. */
static __always_inline int block_was_kept(const struct gpubpf_ctx *ctx, struct block *block)
{
	int kept = block->number == block_number(ctx);

	if (kept)
		block->number = 0;
	return kept;
}

#endif
