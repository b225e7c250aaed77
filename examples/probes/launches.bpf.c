/* SPDX-License-Identifier: Apache-2.0 */
#include "by_kernel.h"

struct GPUBPF_ROW counts {
	__u64 launches, blocks, threads;
};
BY_KERNEL(launches, struct counts);

SEC("gpu/entry/*")
GPUBPF_ABOUT("launches, blocks and threads of each kernel")
int count_launches(struct gpubpf_ctx *ctx)
{
	struct counts *counts = of_kernel(ctx, &launches);

	if (!counts || !is_first_thread(ctx))
		return 0;
	if (gpubpf_block_linear(ctx) == 0)
		gpubpf_count(&counts->launches, 1);
	gpubpf_count(&counts->blocks, 1);
	gpubpf_count(&counts->threads, gpubpf_block_threads(ctx));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
