/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a context access at an offset that is not constant. */
#include "../../case.h"

EXPECT("refused CTX_ACCESS");

SEC("gpu/entry/*")
int context_varies(struct gpubpf_ctx *ctx)
{
	__u64 i = ctx->launch & 7;

	return *(__u64 *)((char *)ctx + 8 * i);
}
