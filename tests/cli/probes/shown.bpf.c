/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map values that gpubpf formats by their types: histograms declared as such, a plain array of slots, kernels,
 * addresses.
 */
#include <gpubpf/probe.h>

GPUBPF_LINEAR_HIST(quarters, 256, 1024, 256);

struct stats {
	__u64 calls;
	struct gpubpf_hist threads;
	struct quarters quarters;
	__u64 slots[40]; /* filled like a histogram, but declared as an array of numbers */
};
GPUBPF_HASH(by_kernel, gpubpf_kernel, struct stats, 16);

struct seen {
	gpubpf_kernel kernel;
	gpubpf_address arg;
	struct gpubpf_name name;
};
GPUBPF_ARRAY(places, struct seen, 1);
GPUBPF_HASH(by_name, struct gpubpf_name, __u64, 16);
GPUBPF_ARRAY(odd_hist, __u64, 8); /* an array of numbers, in spite of its name */
struct gpubpf_hist all;
__u64 zeros[40];
const char parities[2][8] = { "even", "odd" };

static __always_inline struct stats *stats_of(gpubpf_kernel kernel)
{
	static const struct stats none;
	struct stats *stats = bpf_map_lookup_elem(&by_kernel, &kernel);

	if (stats)
		return stats;
	bpf_map_update_elem(&by_kernel, &kernel, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&by_kernel, &kernel);
}

SEC("gpu/entry/step_*")
int show(struct gpubpf_ctx *ctx)
{
	struct stats *stats = stats_of(gpubpf_kernel_of(ctx));
	struct seen *seen = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	struct gpubpf_name name;
	__u64 one = 1, slot = gpubpf_log2(ctx->global_linear);

	if (!stats || !seen)
		return 0;
	gpubpf_count(&stats->calls, 1);
	gpubpf_observe_in(&stats->threads, ctx->global_linear);
	gpubpf_observe_in(&stats->quarters, ctx->global_linear);
	if (slot < 40)
		gpubpf_count(&stats->slots[slot], 1);
	gpubpf_observe_in(&all, ctx->global_linear);
	gpubpf_add(&odd_hist, 3, 1);
	if (ctx->global_linear != 5)
		return 0;
	seen->kernel = gpubpf_kernel_of(ctx);
	seen->arg = ctx->arg[0];
	gpubpf_kernel_name(ctx, &seen->name);
	gpubpf_kernel_name(ctx, &name);
	bpf_map_update_elem(&by_name, &name, &one, BPF_ANY);
	zeros[39] = 1;
	bpf_printk("%s: launch %s, %s", "text", parities[ctx->launch & 1], seen->name.text);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
