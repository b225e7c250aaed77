/* SPDX-License-Identifier: Apache-2.0 */
#include <gpubpf/probe.h>

GPUBPF_LAUNCHES(rows, 1024);

SEC("gpu/entry/*")
GPUBPF_ABOUT("each launch: kernel, begin, time, blocks and multiprocessors")
int launch_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_begin(ctx, &rows);
	return 0;
}

SEC("gpu/exit/*")
int launch_ends(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_end(ctx, &rows);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
