/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are running. */
#ifndef GPUBPF_EXAMPLES_BLOCK_H
#define GPUBPF_EXAMPLES_BLOCK_H

#include "by_kernel.h"

/* More than a device has at once; one that comes while another of its place is there takes that, which then is lost. */
#define PLACES 16384

struct block {
	__u64 number, start;
#ifdef BLOCK_KEEPS_SM
	__u64 sm; /* where it came: that of a CPU may have changed */
#endif
	__u64 gone; /* of its ends */
};
GPUBPF_ARRAY(running, struct block, PLACES) GPUBPF_SCRATCH;

/* Launches that overlap, of one kernel or of several, have blocks of the same number. */
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
	bpf_gpu_membar(); /* before this thread counts as gone */
}

/* Its place, for the thread that ends it; NULL for all others. */
static __always_inline struct block *block_goes(const struct gpubpf_ctx *ctx)
{
	struct block *block = block_place(ctx);
	__u64 ends = ends_of(ctx);

	if (!block || !ends || gpubpf_fetch_add(&block->gone, ends) + ends < ENDS)
		return NULL;
	gpubpf_count(&block->gone, -(__u64)ENDS);
	bpf_gpu_membar(); /* what the first thread wrote is seen */
	return block;
}

/* Is it still there? Once. */
static __always_inline int block_was_kept(const struct gpubpf_ctx *ctx, struct block *block)
{
	int kept = block->number == block_number(ctx);

	if (kept)
		block->number = 0;
	return kept;
}

#endif
