/* SPDX-License-Identifier: Apache-2.0 */
/* Eight bytes from the middle of a field of eight. */
#include "../case.h"

EXPECT("refused CTX_ACCESS");

SEC("gpu/entry/*")
int context_half(struct gpubpf_ctx *ctx)
{
	return *(__u64 *)((char *)&ctx->launch + 4);
}
