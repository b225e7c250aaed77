/* SPDX-License-Identifier: Apache-2.0 */
/* can_loop and cond_break: the limit of 8192 belongs to a call of a function, and to all its loops together. */
#include "../case.h"

EXPECT("launch 1,1,1 32,1,1");
EXPECT("checks 160");

static __noinline __u64 count_up(__u64 n)
{
	__u64 i = 0;

	while (can_loop) {
		if (i == n)
			break;
		i++;
	}
	return i;
}

SEC("gpu/entry/*")
int loops(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->thread_idx[0] & 31, i = 0;

	CHECK(count_up(n), n);
	CHECK(count_up((__u64)ctx->block_dim[0] << 15), 8192);
	CHECK(count_up(100), 100);
	for (;;) {
		cond_break;
		i++;
	}
	CHECK(i, 8192);
	for (;;) {
		cond_break;
		i++;
	}
	CHECK(i, 8192);
	return 0;
}
