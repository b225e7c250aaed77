/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads write to a ring buffer that is too small. Each record is either in the ring buffer or counted as a drop.
 */
#include "../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("accounted ring 8192");

struct event {
	__u64 words[7];
};
GPUBPF_RINGBUF(ring, struct event, 4096);

SEC("gpu/entry/*")
int fill(struct gpubpf_ctx *ctx)
{
	struct event event = { { ctx->global_linear } };

#pragma clang loop unroll(disable)
	for (int i = 0; i < 16; i++)
		bpf_ringbuf_output(&ring, &event, sizeof(event), 0);
	return 0;
}
