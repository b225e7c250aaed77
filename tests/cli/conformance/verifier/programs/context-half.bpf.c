/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: an eight-byte load from the middle of an eight-byte context field. */
#include "../../case.h"

EXPECT("refused CTX_ACCESS");

SEC("gpu/entry/*")
int context_half(struct gpubpf_ctx *ctx)
{
	return *(__u64 *)((char *)&ctx->launch + 4);
}
