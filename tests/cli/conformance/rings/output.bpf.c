/* SPDX-License-Identifier: Apache-2.0 */
/* RINGBUF: each thread writes one record, and none is lost. */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("checks 128");
EXPECT("records ring 128");
EXPECT("drops ring 0");

GPUBPF_RINGBUF(ring, __u64, 65536);

SEC("gpu/entry/*")
int output(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;

	CHECK(bpf_ringbuf_output(&ring, &me, sizeof(me), 0), 0);
	return 0;
}
