/* SPDX-License-Identifier: Apache-2.0 */
/* Byte loads from the stack are unsigned, like all eBPF loads. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sum, __u64, 1);

SEC("gpu/entry/*")
int bytes(struct gpubpf_ctx *ctx)
{
	volatile __u8 table[8] = { 1, 2, 3, 4, 250, 251, 252, 253 };

	gpubpf_add(&sum, 0, table[ctx->block_idx[0] & 7]);
	return 0;
}
