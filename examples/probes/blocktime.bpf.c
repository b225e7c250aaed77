/* SPDX-License-Identifier: Apache-2.0 */
#include "block_begins.h"

struct GPUBPF_ROW times {
	struct gpubpf_times blocks;
	__u64 untimed;
};
BY_KERNEL(blocktime, struct times);

SEC("gpu/exit/*")
GPUBPF_ABOUT("how long the blocks of each kernel run: count, sum, mean, median, p99, share")
int block_ends(struct gpubpf_ctx *ctx)
{
	struct times *times = of_kernel(ctx, &blocktime);
	struct block *block = block_goes(ctx);

	if (!times || !block)
		return 0;
	if (block_was_kept(ctx, block))
		gpubpf_measure(&times->blocks, bpf_ktime_get_ns() - block->start);
	else
		gpubpf_count(&times->untimed, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
