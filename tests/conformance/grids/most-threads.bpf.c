/* SPDX-License-Identifier: Apache-2.0 */
/* The largest block that the device takes: each of its threads runs the program once, and knows its place. */
#include "../case.h"

EXPECT("launch 2,1,1 MOST,1,1");
EXPECT("map threads[0] THREADS");
EXPECT("checks 2*THREADS");
EXPECT("entries seen THREADS");

GPUBPF_ARRAY(threads, __u64, 1);
GPUBPF_HASH(seen, __u64, __u32, 65536);

SEC("gpu/entry/*")
int full(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->block_idx[0] << 32 | ctx->thread_idx[0];
	__u32 one = 1;

	gpubpf_add(&threads, 0, 1);
	CHECK(ctx->thread_idx[0] < ctx->block_dim[0], 1);
	CHECK(bpf_map_update_elem(&seen, &me, &one, BPF_NOEXIST), 0);
	return 0;
}
