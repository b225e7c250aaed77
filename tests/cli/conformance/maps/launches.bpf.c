/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAUNCHES: the launch has a row, and so has another launch, whose blocks the same threads mark. A map of two rows has
 * four slots: all blocks find the same four of eight launches.
 */
#include "../case.h"

EXPECT("launch 5,2,1 32,1,1");
EXPECT("checks 1280");
EXPECT("map marks[0] 10");
EXPECT("map marks[1] 20");
EXPECT("map marks[2] 1280");
EXPECT("map marks[3] 1280");

GPUBPF_LAUNCHES(rows, 4);
GPUBPF_LAUNCHES(full, 2);
GPUBPF_ARRAY(marks, __u64, 4);

SEC("gpu/entry/*")
int launch_rows(struct gpubpf_ctx *ctx)
{
	__u64 first = ctx->thread_idx[0] == 0, last = ctx->thread_idx[0] == 31;

	CHECK(gpubpf_launch_begin(ctx, &rows), 0);
	CHECK(gpubpf_launch_end(ctx, &rows), 0);
	CHECK(bpf_gpu_launch_mark(&rows, ctx->launch + 1, ctx->kernel, 20, 0), 0);
	CHECK(bpf_gpu_launch_mark(&rows, ctx->launch + 1, ctx->kernel, 20, 1), 0);
	gpubpf_add(&marks, 0, first);
	gpubpf_add(&marks, 1, first + last);
	for (__u32 i = 0; i < 8; i++) {
		long ret = bpf_gpu_launch_mark(&full, i, 1, 2, 0);

		gpubpf_add(&marks, 2, ret == 0);
		gpubpf_add(&marks, 3, ret == -7);
	}
	return 0;
}
