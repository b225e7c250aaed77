/* SPDX-License-Identifier: Apache-2.0 */
/* The first thread of each block emits a record. */
#include <gpubpf/probe.h>

#include "consumer.h"

GPUBPF_RINGBUF(blocks, struct block, 1 << 20);

SEC("gpu/entry/*")
int entered(struct gpubpf_ctx *ctx)
{
	struct block *b;

	if (ctx->thread_idx[0] || ctx->thread_idx[1] || ctx->thread_idx[2])
		return 0;
	b = bpf_ringbuf_reserve(&blocks, sizeof(*b), 0);
	if (!b)
		return 0; /* the ring is full, and counts the record as dropped */
	b->kernel = gpubpf_kernel_of(ctx);
	b->launch = ctx->launch;
	b->x = ctx->block_idx[0];
	b->threads = ctx->block_dim[0] * ctx->block_dim[1] * ctx->block_dim[2];
	bpf_ringbuf_submit(b, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
