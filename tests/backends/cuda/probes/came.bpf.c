/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to one of many values, and counts with votes of the warp, while only some lanes of the warp are active. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sums, __u64, 64);

SEC("gpu/mem_before/*")
int differs(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->mem.addr >> 7 & 63;
	__u64 *sum = bpf_map_lookup_elem(&sums, &key);

	if (sum && ctx->mem.addr & 64)
		gpubpf_count(sum, ctx->mem.bytes);
	return 0;
}

/* Ends the thread in some lanes, so that fewer lanes reach the next place. */
SEC("gpu/mem/*")
int ends(struct gpubpf_ctx *ctx)
{
	__u32 key = gpubpf_allocation_number(ctx->mem.addr) & 63;

	if (key == 63)
		bpf_exit_thread();
	gpubpf_add(&sums, key, 1);
	return 0;
}

SEC("gpu/line/*")
int comes(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&sums, gpubpf_allocation_number(ctx->line) & 63, ctx->line);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
