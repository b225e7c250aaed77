/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for() and bpf_repeat() with a different number of iterations per lane. They are nested, left by break, and have
 * negative numbers, no numbers, or errors.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 640");

SEC("gpu/entry/*")
int iterators(struct gpubpf_ctx *ctx)
{
	int n = (int)(ctx->thread_idx[0] & 31), i, k, last = 77;
	struct bpf_iter_num *it;
	__u64 sum = 0, own;

	bpf_for(i, 0, n)
	{
		sum += (__u64)i + 1;
		last = i;
	}
	CHECK(sum, n * (n + 1) / 2);
	CHECK(last, n ? n - 1 : 77);
	sum = 0;
	bpf_for(i, 0, 5) bpf_for(k, 0, i) sum += 100 * (__u64)i + (__u64)k;
	CHECK(sum, 3010);
	sum = 0;
	bpf_for(i, -3, 4) sum = sum * 10 + (__u64)(i + 3);
	CHECK(sum, 123456);
	sum = 0;
	bpf_repeat(9)
	{
		if (++sum == 4)
			break;
	}
	CHECK(sum, 4);
	bpf_for(i, 5, 5) sum++;
	CHECK(sum, 4);
	it = (struct bpf_iter_num *)&own;
	CHECK(bpf_iter_num_new(it, 5, 4), -22);
	CHECK(bpf_iter_num_next(it) == NULL, 1);
	bpf_iter_num_destroy(it);
	CHECK(bpf_iter_num_new(it, 0, (8 << 20) + 1), -7);
	CHECK(bpf_iter_num_next(it) == NULL, 1);
	bpf_iter_num_destroy(it);
	return 0;
}
