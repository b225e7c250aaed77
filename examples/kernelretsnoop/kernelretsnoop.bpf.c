/* SPDX-License-Identifier: Apache-2.0 */
/* Emits a record when a thread ends, with the thread and the time. */
#include <gpubpf/probe.h>

struct ended {
	__u64 ns;       /* time of the exit, comparable with CLOCK_MONOTONIC */
	__u64 launch;
	__u32 block[3], thread[3];
};
GPUBPF_RINGBUF(events, struct ended, 1 << 20);

SEC("gpu/exit/*")
int thread_ended(struct gpubpf_ctx *ctx)
{
	struct ended *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0; /* the ring is full, and counts the record as dropped */
	e->ns = bpf_get_globaltimer();
	e->launch = ctx->launch;
	e->block[0] = ctx->block_idx[0];
	e->block[1] = ctx->block_idx[1];
	e->block[2] = ctx->block_idx[2];
	e->thread[0] = ctx->thread_idx[0];
	e->thread[1] = ctx->thread_idx[1];
	e->thread[2] = ctx->thread_idx[2];
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
