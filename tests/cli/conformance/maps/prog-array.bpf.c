/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PROG_ARRAY in one thread. Tail calls go to present programs, empty slots and indices past the end. Other tail calls
 * repeat 33 times, select one of two maps, or fail because both programs' stacks together exceed the limit.
 */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 7");
EXPECT("map seen[0] 1");
EXPECT("map seen[1] 2");
EXPECT("map seen[2] 2");
EXPECT("map seen[3] 33");
EXPECT("map seen[4] 1");
EXPECT("map seen[5] 1");
EXPECT("map seen[6] 33");
EXPECT("map seen[7] 0");

GPUBPF_ARRAY(seen, __u64, 8);

int one(struct gpubpf_ctx *ctx), two(struct gpubpf_ctx *ctx), again(struct gpubpf_ctx *ctx), back(struct gpubpf_ctx *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 5);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} jumps SEC(".maps") = { .values = { [0] = (void *)&one, [2] = (void *)&two, [4] = (void *)&again } };

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} others SEC(".maps") = { .values = { [0] = (void *)&back } };

/* only a tail call runs this program */
SEC("gpu/entry")
int one(struct gpubpf_ctx *ctx)
{
	volatile __u64 own[50] = {}; /* the stacks of one() and two() together exceed the limit */

	own[ctx->thread_idx[0] & 15] = 7;
	CHECK(own[0], 7);
	gpubpf_add(&seen, 1, 1);
	bpf_tail_call(ctx, &jumps, 2);
	gpubpf_add(&seen, 7, 1);
	return 0;
}

static __noinline __u64 sum(__u64 a, __u64 b)
{
	return a + b;
}

SEC("gpu/entry")
int two(struct gpubpf_ctx *ctx)
{
	volatile __u64 own[50] = {}; /* the stacks of one() and two() together exceed the limit */

	own[ctx->thread_idx[0] & 15] = 1;
	CHECK(own[1], 0);
	CHECK(ctx->block_dim[0], 1);
	bpf_tail_call(ctx, &jumps, 1);
	bpf_tail_call(ctx, &jumps, 5);
	bpf_tail_call(ctx, &jumps, 0xffffffff);
	gpubpf_add(&seen, 2, sum(own[0], 0));
	return 0;
}

SEC("gpu/entry")
int again(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 3, 1);
	bpf_tail_call(ctx, &jumps, 4);
	gpubpf_add(&seen, 4, 1);
	return 0;
}

SEC("gpu/entry")
int back(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 6, 1);
	bpf_tail_call(ctx, &others, 0);
	gpubpf_add(&seen, 5, 1);
	return 0;
}

SEC("gpu/entry/*")
int first(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 0, 1);
	bpf_tail_call(ctx, &jumps, 3);
	CHECK(ctx->grid_dim[0], 1);
	bpf_tail_call(ctx, &jumps, 0);
	gpubpf_add(&seen, 7, 1);
	return 0;
}

/* bpf_tail_call() uses only the low 32 bits of the index */
SEC("gpu/entry/*")
int wide(struct gpubpf_ctx *ctx)
{
	__u64 index = 0x100000000 + ctx->thread_idx[0];

	asm volatile("r1 = %0; r2 = %1 ll; r3 = %2; call 12" : : "r"(ctx), "i"(&jumps), "r"(index) : "r0", "r1", "r2", "r3", "r4", "r5");
	gpubpf_add(&seen, 7, 1);
	return 0;
}

SEC("gpu/entry/*")
int itself(struct gpubpf_ctx *ctx)
{
	bpf_tail_call(ctx, &jumps, 4);
	gpubpf_add(&seen, 7, 1);
	return 0;
}

SEC("gpu/entry/*")
int either(struct gpubpf_ctx *ctx)
{
	void *map = ctx->thread_idx[0] ? (void *)&jumps : (void *)&others;

	asm volatile("" : "+r"(map));
	bpf_tail_call(ctx, map, 0);
	gpubpf_add(&seen, 7, 1);
	return 0;
}
