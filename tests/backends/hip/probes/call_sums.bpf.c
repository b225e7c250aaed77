/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls and adds up arguments and results. tests/backends/hip/programs/run.py checks the sums. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(calls, __u64, 7);

static inline void add(__u32 at, __u64 n)
{
	__u64 *sum = bpf_map_lookup_elem(&calls, &at);

	if (sum)
		gpubpf_count(sum, n);
}

SEC("gpu/call/*inner*")
int inner_begins(struct gpubpf_ctx *ctx)
{
	add(0, 1);
	add(1, ctx->arg[0]);
	add(2, ctx->arg[1]);
	return 0;
}

SEC("gpu/call_exit/*inner*")
int inner_ends(struct gpubpf_ctx *ctx)
{
	add(3, 1);
	add(4, ctx->result);
	return 0;
}

SEC("gpu/call/*outer*")
int outer_begins(struct gpubpf_ctx *ctx)
{
	add(5, 1);
	add(6, ctx->arg[1]);
	return 0;
}
