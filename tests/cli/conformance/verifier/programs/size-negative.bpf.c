/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a size argument that may be negative. */
#include "../../case.h"

EXPECT("refused HELPER_ARG");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int size_negative(struct gpubpf_ctx *ctx)
{
	__u64 words[2] = { 1, 2 };
	long size = (long)ctx->launch;

	if (size > 16)
		return 0;
	return bpf_ringbuf_output(&ring, words, size, 0);
}
