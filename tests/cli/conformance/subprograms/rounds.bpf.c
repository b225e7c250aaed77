/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_loop() with a different number of iterations per lane: nested loops, loops that the callback ends, and zero
 * iterations.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 640");

struct work {
	__u64 sum, last;
};

static long add_one(__u32 i, void *to)
{
	struct work *w = to;

	w->sum += i + 1;
	w->last = i;
	return 0;
}

static long add_some(__u32 i, void *to)
{
	bpf_loop(i & 3, add_one, to, 0);
	return i == 5;
}

/* the verifier proves that no loop calls this callback */
static long never(__u32 i, void *to)
{
	((struct work *)to)->last = i;
	return 0;
}

SEC("gpu/entry/*")
int rounds(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->thread_idx[0] & 31;
	struct work w = { 0, 77 };

	CHECK(bpf_loop(n, add_one, &w, 0), n);
	CHECK(w.sum, n * (n + 1) / 2);
	CHECK(w.last, n ? n - 1 : 77);
	w.sum = 0;
	CHECK(bpf_loop(9, add_some, &w, 0), 6);
	CHECK(w.sum, 1 + 3 + 6 + 1);
	CHECK(bpf_loop(3, add_one, &w, 1), -22);
	CHECK(bpf_loop((8 << 20) + 1, add_one, &w, 0), -7);
	CHECK(w.sum, 11);
	CHECK(bpf_loop(0, never, &w, 0), 0);
	CHECK(bpf_loop(0, never, &w, 1), -22);
	return 0;
}
