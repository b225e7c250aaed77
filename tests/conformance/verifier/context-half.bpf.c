/* SPDX-License-Identifier: Apache-2.0 */
/* An eight-byte load from the middle of an eight-byte field. */
#include "../case.h"

EXPECT("refused CTX_ACCESS");

SEC("gpu/entry/*")
int context_half(struct gpubpf_ctx *ctx)
{
	return *(__u64 *)((char *)&ctx->launch + 4);
}
