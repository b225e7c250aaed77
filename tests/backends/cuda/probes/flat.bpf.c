/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all three axes of a launch where threads and blocks begin and end, and at memory accesses. */
#include <gpubpf/probe.h>

struct told {
	__u64 times, sum;
};
GPUBPF_ARRAY(entered, struct told, 64);
GPUBPF_ARRAY(left, struct told, 64);
GPUBPF_ARRAY(begun, struct told, 8);
GPUBPF_ARRAY(ended, struct told, 8);
GPUBPF_ARRAY(added, __u64, 1);
GPUBPF_ARRAY(inside, struct told, 1);

static __always_inline __u64 where(struct gpubpf_ctx *ctx)
{
	__u64 sum = 0;

	for (int i = 0; i < 3; i++)
		sum = sum * 1009 + ctx->thread_idx[i] * 3 + ctx->block_idx[i] * 7 + ctx->block_dim[i] * 13 + ctx->grid_dim[i] * 29;
	return sum;
}

static __always_inline __u32 thread_of(struct gpubpf_ctx *ctx)
{
	return ctx->thread_idx[0] + ctx->block_dim[0] * (ctx->thread_idx[1] + ctx->block_dim[1] * ctx->thread_idx[2]);
}

static __always_inline void tell(struct told *t, __u64 sum)
{
	if (!t)
		return;
	t->times++;
	t->sum = sum + t->times;
}

/* each thread writes its own value */
SEC("gpu/entry/*")
int enter(struct gpubpf_ctx *ctx)
{
	__u32 thread = thread_of(ctx);

	tell(bpf_map_lookup_elem(&entered, &thread), where(ctx));
	return 0;
}

SEC("gpu/exit/*")
int leave(struct gpubpf_ctx *ctx)
{
	__u32 thread = thread_of(ctx);

	tell(bpf_map_lookup_elem(&left, &thread), where(ctx) + gpubpf_block_threads(ctx));
	return 0;
}

/* each block reads and writes its own value; the code is short enough for predication instead of a branch */
SEC("gpu/block_begin/*")
int begin(struct gpubpf_ctx *ctx)
{
	__u32 block = gpubpf_block_linear(ctx);
	struct told *t = bpf_map_lookup_elem(&begun, &block);

	if (t) {
		t->times++;
		t->sum = 1 + ctx->thread_idx[0] + 100 * ctx->block_dim[1];
	}
	return 0;
}

SEC("gpu/block_end/*")
int end(struct gpubpf_ctx *ctx)
{
	__u32 block = gpubpf_block_linear(ctx), last = gpubpf_block_threads(ctx) - 1;
	struct told *t = bpf_map_lookup_elem(&entered, &last);

	tell(bpf_map_lookup_elem(&ended, &block), where(ctx) + (t ? t->times : 0)); /* the last thread has entered by now */
	return 0;
}

/* a program whose only effect is an add */
SEC("gpu/block_end/*")
int add(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&added, 0, where(ctx));
	return 0;
}

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(&inside, &key);

	if (t) {
		gpubpf_count(&t->times, 1);
		gpubpf_count(&t->sum, where(ctx) + ctx->mem.addr);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
