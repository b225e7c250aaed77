/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a write to the context, which is read-only. */
#include "../case.h"

EXPECT("refused CTX_ACCESS");

SEC("gpu/entry/*")
int context(struct gpubpf_ctx *ctx)
{
	*(volatile __u64 *)&ctx->launch = 1;
	return 0;
}
