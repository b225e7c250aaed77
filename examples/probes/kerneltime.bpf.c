/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time from the start of a launch's first block to the end of its last block. If the runtime measures
 * launches itself (OpenCL on CPUs), kernels run without these programs, and the map receives the runtime's times.
 */
#include "by_kernel.h"

#define AT_ONCE 64 /* maximum number of launches of a kernel that overlap */

struct GPUBPF_ROW times {
	struct gpubpf_times launches;
};
BY_KERNEL(kerneltime, struct times) GPUBPF_LAUNCH_TIMES;

struct launch {
	gpubpf_minimum start;
	__u64 gone; /* number of first and last threads of blocks that have left */
};
GPUBPF_ARRAY(launched, struct launch, KERNELS * AT_ONCE) GPUBPF_SCRATCH;

static __always_inline struct launch *launch_of(const struct gpubpf_ctx *ctx)
{
	__u32 i = ctx->kernel * AT_ONCE + ctx->launch % AT_ONCE;

	return bpf_map_lookup_elem(&launched, &i);
}

SEC("gpu/entry/*")
GPUBPF_ABOUT("how long each kernel runs: launches, sum, mean, median, p99, share")
int kernel_begins(struct gpubpf_ctx *ctx)
{
	struct launch *launch = launch_of(ctx);

	/* the minimum waits for nothing; this thread's add to `gone` orders it before the read by the last thread */
	if (launch && is_first_thread(ctx))
		gpubpf_atomic_min(&launch->start, bpf_ktime_get_ns());
	return 0;
}

SEC("gpu/exit/*")
int kernel_ends(struct gpubpf_ctx *ctx)
{
	__u64 blocks = ctx->grid_dim[0] * ctx->grid_dim[1] * ctx->grid_dim[2];
	struct times *times = of_kernel(ctx, &kerneltime);
	struct launch *launch = launch_of(ctx);
	__u64 ends = ends_of(ctx);

	if (!launch || !times || !ends || gpubpf_fetch_add(&launch->gone, ends) + ends < ENDS * blocks)
		return 0;
	gpubpf_measure(&times->launches, bpf_ktime_get_ns() - GPUBPF_MINIMUM(launch->start));
	launch->start = 0;
	launch->gone = 0;
	bpf_gpu_membar();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
