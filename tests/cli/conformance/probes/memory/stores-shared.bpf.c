/* SPDX-License-Identifier: Apache-2.0 */
/* A probe at each store to the block's shared memory. */
#include "../../case.h"

EXPECT("workload meets");
EXPECT("needs gpu/mem.shared");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 1280");

SEC("gpu/mem.shared/meets")
int store(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.access != GPUBPF_STORE)
		return 0;
	CHECK(ctx->mem.value[0], ctx->global_linear);
	CHECK(ctx->mem.bytes, 4);
	CHECK(ctx->mem.space, GPUBPF_SHARED);
	CHECK(ctx->mem.count, 1);
	return 0;
}
