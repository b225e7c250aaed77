/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that tail-call each other through one of two maps, each with its own stack. An empty slot falls through. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(out, __u64, 4);

int one(struct gpubpf_ctx *ctx), two(struct gpubpf_ctx *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 3);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} jumps SEC(".maps") = { .values = { [0] = (void *)&one, [2] = (void *)&two } }, others SEC(".maps") = { .values = { [1] = (void *)&two } };

SEC("gpu/entry")
int one(struct gpubpf_ctx *ctx)
{
	volatile __u64 own[8] = {};

	own[ctx->thread_idx[0] & 7] = 7;
	bpf_tail_call(ctx, &others, ctx->block_idx[0] & 1);
	gpubpf_add(&out, 1, own[1]);
	return 0;
}

SEC("gpu/entry")
int two(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&out, 2, ctx->thread_idx[0]);
	bpf_tail_call(ctx, &jumps, 0);
	return 0;
}

SEC("gpu/entry/*")
int first(struct gpubpf_ctx *ctx)
{
	void *map = ctx->thread_idx[0] & 1 ? (void *)&jumps : (void *)&others;

	asm volatile("" : "+r"(map));
	bpf_tail_call(ctx, map, ctx->block_idx[0] & 3);
	gpubpf_add(&out, 0, 1);
	return 0;
}
