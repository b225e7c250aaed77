/* SPDX-License-Identifier: Apache-2.0 */
/* Probes with high register pressure at the entry and the exits. Each probe's sum depends on all of its
 * registers. Both sums are equal only if neither the kernel nor the probe overwrote registers of the other. */
#include <gpubpf/probe.h>

#define MANY 24 /* 64-bit values */

struct sums {
	__u64 threads, sum;
};
GPUBPF_ARRAY(sums, struct sums, 2);

static __always_inline int note(struct gpubpf_ctx *ctx, __u32 at)
{
	__u64 x[MANY], seed = ctx->global_linear * 0x9e3779b97f4a7c15ull + 1, all = 0;
	struct sums *s = bpf_map_lookup_elem(&sums, &at);

	if (!s)
		return 0;
#pragma unroll
	for (int i = 0; i < MANY; i++)
		x[i] = seed = seed * 6364136223846793005ull + 1442695040888963407ull;
#pragma unroll
	for (int round = 0; round < 3; round++)
#pragma unroll
		for (int i = 0; i < MANY; i++)
			x[i] += (x[(i + 7) % MANY] ^ x[(i + MANY - 1) % MANY] >> 7) * 3;
#pragma unroll
	for (int i = 0; i < MANY; i++)
		all ^= x[i] >> (i & 7);
	gpubpf_count(&s->threads, 1);
	gpubpf_count(&s->sum, all);
	return 0;
}

SEC("gpu/entry/*") int enter(struct gpubpf_ctx *ctx) { return note(ctx, 0); }
SEC("gpu/exit/*") int leave(struct gpubpf_ctx *ctx) { return note(ctx, 1); }

char LICENSE[] SEC("license") = "GPL";
