/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_for(), nested and with a bound of the context, and loops that may_goto ends. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(out, __u64, 4);

SEC("gpu/entry/*")
int iterators(struct gpubpf_ctx *ctx)
{
	int i, k, n = (int)(ctx->thread_idx[0] & 31);
	__u64 sum = 0, rounds = 0;

	bpf_for(i, 0, n) bpf_for(k, 0, 4) sum += (__u64)i * (__u64)k;
	gpubpf_add(&out, 0, sum);
	while (can_loop && rounds < sum)
		rounds += 3;
	gpubpf_add(&out, 1, rounds);
	return 0;
}
