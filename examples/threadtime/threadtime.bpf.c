/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long each warp of every kernel runs, from entry to exit. Shows a histogram, and a block for each of its
 * slots.
 */
#include <gpubpf/probe.h>

GPUBPF_PER_THREAD(entered, __u64); /* time of the warp's entry, in the value of its first lane */
GPUBPF_HISTOGRAM(warp_ns);

/*
 * The number of warps in a slot of the histogram, and the block of the last warp that was counted in this slot. The
 * highest non-empty slots have the slowest blocks.
 */
struct class {
	__u64 warps, block;
};
GPUBPF_ARRAY(slowest, struct class, GPUBPF_LOG2_SLOTS);

SEC("gpu/entry/*")
int warp_enter(struct gpubpf_ctx *ctx)
{
	__u64 *t = bpf_get_lane_id() ? NULL : bpf_map_lookup_elem(&entered, &(__u32){ 0 });

	if (t)
		*t = bpf_ktime_get_ns();
	return 0;
}

SEC("gpu/exit/*")
int warp_leave(struct gpubpf_ctx *ctx)
{
	__u64 *t = bpf_get_lane_id() ? NULL : bpf_map_lookup_elem(&entered, &(__u32){ 0 }), ns;
	struct class *class;
	__u32 slot;

	if (!t)
		return 0;
	ns = bpf_ktime_get_ns() - *t;
	slot = gpubpf_log2(ns);
	gpubpf_observe(&warp_ns, ns);
	class = bpf_map_lookup_elem(&slowest, &slot);
	if (!class)
		return 0;
	gpubpf_count(&class->warps, 1);
	class->block = gpubpf_block_linear(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
