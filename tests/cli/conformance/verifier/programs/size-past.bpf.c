/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a size argument that is one byte larger than the memory argument. */
#include "../../case.h"

EXPECT("refused STACK_BOUNDS");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int size_past(struct gpubpf_ctx *ctx)
{
	__u64 words[1] = { 1 };

	return bpf_ringbuf_output(&ring, words, 9 + (ctx->launch & 0), 0);
}
