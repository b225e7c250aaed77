/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread of the launch runs the program exactly once. Every thread owns one bit of the map: it finds the bit clear
 * and sets it.
 */
#include "../case.h"

EXPECT("checks 2*THREADS");

GPUBPF_ARRAY(seen, __u64, 1024);

SEC("gpu/entry/*")
int once(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear, bit = 1ull << (me & 63), *word = bpf_map_lookup_elem(&seen, &(__u32){ me >> 6 });

	CHECK(me < ctx->grid_dim[0] * ctx->grid_dim[1] * ctx->grid_dim[2] * ctx->block_dim[0] * ctx->block_dim[1] * ctx->block_dim[2], 1);
	CHECK(word && !(__sync_fetch_and_or(word, bit) & bit), 1);
	return 0;
}
