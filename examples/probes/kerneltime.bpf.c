/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the time from the start of a launch's first block to the end of its last block. */
#include "by_kernel.h"

#define AT_ONCE 4 /* maximum number of launches of a kernel that overlap */

struct GPUBPF_ROW times {
	struct gpubpf_times launches;
};
BY_KERNEL(kerneltime, struct times);

struct launch {
	__u64 came; /* number of blocks that have begun */
	__u64 gone; /* number of first and last threads of blocks that have left */
	__u64 start;
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

	if (!launch || !is_first_thread(ctx) || gpubpf_fetch_add(&launch->came, 1))
		return 0;
	launch->start = bpf_ktime_get_ns();
	bpf_gpu_membar(); /* makes the write of `start` visible before this thread is counted in `gone` */
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
	gpubpf_measure(&times->launches, bpf_ktime_get_ns() - launch->start);
	launch->came = 0;
	launch->gone = 0;
	bpf_gpu_membar();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
