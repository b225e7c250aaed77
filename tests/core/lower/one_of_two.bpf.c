/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_loop() with a callback that is selected from two functions at run time. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(out, __u64, 2);

static long odd(__u32 i, void *none)
{
	gpubpf_add(&out, 1, i);
	return 0;
}

static long even(__u32 i, void *none)
{
	gpubpf_add(&out, 0, i);
	return 0;
}

SEC("gpu/entry/*")
int one_of_two(struct gpubpf_ctx *ctx)
{
	void *function = ctx->thread_idx[0] & 1 ? odd : even;

	asm volatile("" : "+r"(function));
	bpf_loop(4, function, 0, 0);
	return 0;
}
