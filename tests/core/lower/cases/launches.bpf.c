/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of launches: marks by the first and last threads of blocks, and marks whose arguments differ by thread. */
#include <gpubpf/probe.h>

GPUBPF_LAUNCHES(rows, 64);
GPUBPF_ARRAY(lost, __u64, 1);

SEC("gpu/entry/*")
int launch_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_begin(ctx, &rows);
	if (ctx->thread_idx[0] & 1)
		gpubpf_add(&lost, 0, bpf_gpu_launch_mark(&rows, 0, ctx->global_linear, 2, 0) != 0);
	return 0;
}

SEC("gpu/exit/*")
int launch_ends(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_end(ctx, &rows);
	return 0;
}
