/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_for_each() over numbers, with a different number of iterations per lane, and left by break. */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 128");

SEC("gpu/entry/*")
int for_each(struct gpubpf_ctx *ctx)
{
	int n = (int)(ctx->thread_idx[0] & 31), *each;
	__u64 sum = 0;

	bpf_for_each(num, each, 0, n) sum += (__u64)*each + 1;
	CHECK(sum, n * (n + 1) / 2);
	sum = 0;
	bpf_for_each(num, each, 7, 20)
	{
		if (*each == 10)
			break;
		sum = sum * 10 + (__u64)*each;
	}
	CHECK(sum, 789);
	return 0;
}
