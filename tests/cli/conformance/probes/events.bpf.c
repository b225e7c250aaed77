/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffer records and printed lines of a running GPU kernel reach the tool. */
#include "../case.h"

EXPECT("workload plain");
EXPECT("launch 2,1,1 32,1,1");
EXPECT("records ring 64");
EXPECT("drops ring 0");
EXPECT("print 64 launch 0 of plain");

GPUBPF_RINGBUF(ring, __u64, 65536);

SEC("gpu/exit/plain")
int events(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;

	bpf_ringbuf_output(&ring, &me, sizeof(me), 0);
	bpf_printk("launch %llu of plain", ctx->launch);
	return 0;
}
