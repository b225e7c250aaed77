/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts blocks and their time in one value per multiprocessor. The report shows minimum, maximum and mean, so it shows
 * how even the work is. The number of a block's multiprocessor selects the value. Devices that do not report this
 * number refuse the program.
 */
#include "block_begins.h"

GPUBPF_MAP(balance_blocks, BPF_MAP_TYPE_PERCPU_ARRAY, gpubpf_kernel_index, __u64, KERNELS);
GPUBPF_MAP(balance_busy, BPF_MAP_TYPE_PERCPU_ARRAY, gpubpf_kernel_index, gpubpf_ns, KERNELS);

SEC("gpu/exit/*")
GPUBPF_ABOUT("how evenly the blocks of each kernel, and their time, are spread over multiprocessors")
int block_ends(struct gpubpf_ctx *ctx)
{
	__u64 *blocks = of_kernel(ctx, &balance_blocks), *busy = of_kernel(ctx, &balance_busy);
	struct block *block = block_goes(ctx);

	if (!blocks || !busy || !block || bpf_get_sm_id() >= MULTIPROCESSORS)
		return 0;
	gpubpf_count(blocks, 1);
	if (block_was_kept(ctx, block))
		gpubpf_count(busy, bpf_ktime_get_ns() - block->start);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
