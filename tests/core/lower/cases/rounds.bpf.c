/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of bpf_loop(): nested, ended early, and with the caller's stack; also calls that return errors. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(out, __u64, 8);

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

static long count(__u32 i, void *none)
{
	gpubpf_add(&out, 4, i);
	return 0;
}

SEC("gpu/entry/*")
int rounds(struct gpubpf_ctx *ctx)
{
	struct work w = { 0, 77 };

	gpubpf_add(&out, 0, bpf_loop(ctx->thread_idx[0] & 7, add_one, &w, 0));
	gpubpf_add(&out, 1, w.sum * 100 + w.last);
	w.sum = 0;
	gpubpf_add(&out, 2, bpf_loop(9, add_some, &w, 0));
	gpubpf_add(&out, 3, w.sum);
	bpf_loop(3, count, 0, 0);
	gpubpf_add(&out, 5, bpf_loop(3, count, 0, 1));
	return 0;
}
