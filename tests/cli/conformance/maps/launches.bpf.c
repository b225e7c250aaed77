/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAUNCHES: the launch has a row, and so have eight other launches, whose blocks the same threads mark. One thread of each
 * launch gets its time. The map keeps rows of four launches.
 */
#include "../case.h"

EXPECT("launch 5,2,1 32,1,1");
EXPECT("checks 3520");
EXPECT("map marks[0] 10");
EXPECT("map marks[1] 20");
EXPECT("map marks[2] 9");

GPUBPF_LAUNCHES(rows, 4);
GPUBPF_ARRAY(marks, __u64, 3);

SEC("gpu/entry/*")
int launch_rows(struct gpubpf_ctx *ctx)
{
	__u64 first = ctx->thread_idx[0] == 0, ends = gpubpf_launch_ends(ctx);
	long time;

	CHECK(gpubpf_launch_begin(ctx, &rows), 0);
	time = gpubpf_launch_end(ctx, &rows);
	CHECK(time < 0, 0);
	CHECK(ends, first + (ctx->thread_idx[0] == 31));
	gpubpf_add(&marks, 0, first);
	gpubpf_add(&marks, 1, ends);
	gpubpf_add(&marks, 2, time > 0);
	for (__u32 i = 0; i < 8; i++) {
		CHECK(first ? bpf_gpu_launch_mark(&rows, 0, 1000 + i, 2, 0) : 0, 0);
		time = ends ? bpf_gpu_launch_mark(&rows, 0, 1000 + i, 2, ends) : 0;
		gpubpf_add(&marks, 2, time > 0);
	}
	return 0;
}
