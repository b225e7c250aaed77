/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a warp diverge, run different numbers of loop rounds, and reconverge. */
#include "../case.h"

EXPECT("launch 4,1,1 64,1,1");
EXPECT("checks 512");

SEC("gpu/entry/*")
int divergent(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->thread_idx[0] & 31, sum = 0;

	for (__u64 i = 0; i < 32; i++) {
		if (i >= n)
			break;
		sum += i & 1 ? i * 3 : i;
	}
	CHECK(sum, n * (n - 1) / 2 * (n > 0) + 2 * (n / 2) * (n / 2));
	if (ctx->thread_idx[0] % 3 == 0)
		sum = 1;
	else if (ctx->thread_idx[0] % 3 == 1)
		sum = 2;
	else
		sum = 3;
	CHECK(sum, ctx->thread_idx[0] % 3 + 1);
	return 0;
}
