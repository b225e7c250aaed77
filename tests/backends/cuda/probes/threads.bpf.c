/* SPDX-License-Identifier: Apache-2.0 */
/* Counts launches, launched threads (added by the first thread of each launch),
 * entered threads and exited threads. The last three counts must be equal. */
#include <gpubpf/probe.h>

enum { LAUNCHES, LAUNCHED, ENTERED, LEFT, COUNTS };
GPUBPF_ARRAY(threads, __u64, COUNTS);

SEC("gpu/entry/*")
int entered(struct gpubpf_ctx *ctx)
{
	__u64 first = !(ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2] | gpubpf_block_linear(ctx));

	gpubpf_add(&threads, LAUNCHES, first);
	gpubpf_add(&threads, LAUNCHED, first * ctx->grid_dim[0] * ctx->grid_dim[1] * ctx->grid_dim[2] *
					       gpubpf_block_threads(ctx));
	gpubpf_add(&threads, ENTERED, 1);
	return 0;
}

SEC("gpu/exit/*")
int left(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, LEFT, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
