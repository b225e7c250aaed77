/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of launches, and the number and sum of the times that threads get. */
#include <gpubpf/probe.h>

GPUBPF_LAUNCHES(rows, 2048);
GPUBPF_ARRAY(times, __u64, 2);

SEC("gpu/entry/*")
int launch_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_begin(ctx, &rows);
	return 0;
}

SEC("gpu/exit/*")
int launch_ends(struct gpubpf_ctx *ctx)
{
	long time = gpubpf_launch_time(ctx, &rows);

	if (time > 0) {
		gpubpf_add(&times, 0, 1);
		gpubpf_add(&times, 1, time);
	}
	return 0;
}
