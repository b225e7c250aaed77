/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the launches, work-groups and threads of each kernel, by name. One lane of a work-group counts for the group.
 */
#include <gpubpf/probe.h>

struct counts {
	__u64 launches, blocks, threads;
};
GPUBPF_HASH(kernels, gpubpf_kernel, struct counts, 256);

static __always_inline struct counts *counts_of(gpubpf_kernel kernel)
{
	struct counts *counts = bpf_map_lookup_elem(&kernels, &kernel), none = {};

	if (counts)
		return counts;
	bpf_map_update_elem(&kernels, &kernel, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&kernels, &kernel);
}

SEC("gpu/entry/*")
int count_kernel(struct gpubpf_ctx *ctx)
{
	struct counts *counts;

	if (ctx->thread_idx[0] || ctx->thread_idx[1] || ctx->thread_idx[2])
		return 0;
	counts = counts_of(gpubpf_kernel_of(ctx));
	if (!counts)
		return 0;
	if (gpubpf_block_linear(ctx) == 0)
		gpubpf_count(&counts->launches, 1);
	gpubpf_count(&counts->blocks, 1);
	gpubpf_count(&counts->threads, gpubpf_block_threads(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
