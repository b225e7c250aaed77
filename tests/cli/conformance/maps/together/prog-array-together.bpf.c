/* SPDX-License-Identifier: Apache-2.0 */
/* All threads use one PROG_ARRAY. Neighbours call different programs: one, two in sequence, one 33 times, or none. */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 256");
EXPECT("map seen[0] 512");
EXPECT("map seen[1] 128");
EXPECT("map seen[2] 256");
EXPECT("map seen[3] 128");
EXPECT("map seen[4] 4224");
EXPECT("map seen[5] 128");

GPUBPF_ARRAY(seen, __u64, 8);

int one(struct gpubpf_ctx *ctx), two(struct gpubpf_ctx *ctx), again(struct gpubpf_ctx *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} jumps SEC(".maps") = { .values = { [0] = (void *)&one, [1] = (void *)&two, [3] = (void *)&again } };

SEC("gpu/entry")
int one(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->global_linear & 2, 0);
	gpubpf_add(&seen, 2, 1);
	return 0;
}

SEC("gpu/entry")
int two(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 3, 1);
	bpf_tail_call(ctx, &jumps, 0);
	return 0;
}

SEC("gpu/entry")
int again(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 4, 1);
	bpf_tail_call(ctx, &jumps, 3);
	gpubpf_add(&seen, 5, 1);
	return 0;
}

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&seen, 0, 1);
	bpf_tail_call(ctx, &jumps, ctx->global_linear & 3);
	gpubpf_add(&seen, 1, 1);
	return 0;
}
