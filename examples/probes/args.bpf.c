/* SPDX-License-Identifier: Apache-2.0 */
/* The first thread of each launch emits a record with the kernel's arguments. */
#include "by_kernel.h"

struct launch {
	__u64 launch;
	struct gpubpf_args call;
};
GPUBPF_RINGBUF(args, struct launch, 1 << 20) GPUBPF_FEW;

SEC("gpu/entry/*")
GPUBPF_ABOUT("each launch with its arguments, with names and types as far as they are known")
int take_args(struct gpubpf_ctx *ctx)
{
	struct launch *launch;

	if (!is_first_thread(ctx) || gpubpf_block_linear(ctx))
		return 0;
	launch = bpf_ringbuf_reserve(&args, sizeof(*launch), 0);
	if (!launch)
		return 0; /* the ring is full, and counts the record as dropped */
	launch->launch = ctx->launch;
	gpubpf_copy_args(ctx, &launch->call);
	bpf_ringbuf_submit(launch, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
