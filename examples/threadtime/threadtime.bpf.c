/* SPDX-License-Identifier: Apache-2.0 */
/* How long each warp of every kernel runs, from its entry to its exit: a histogram, and blocks of each class. */
#include <gpubpf/probe.h>

GPUBPF_PER_THREAD(entered, __u64); /* when the warp of which the thread is the first lane came */
GPUBPF_HISTOGRAM(warp_ns);

/* warps whose time is in a class of the histogram, and the block of the one that left last: the slowest blocks stand
 * in the last classes */
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
