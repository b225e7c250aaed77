/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store to global memory, probed at gpu/mem.all places, and at the place that passes address, size and kind as
 * arguments.
 */
#include "../../case.h"

EXPECT("workload plain");
EXPECT("needs gpu/mem.all");
EXPECT("needs gpu/mem_before.all");
EXPECT("needs gpu/mem.capture");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 2560");

static __always_inline int store(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.access != GPUBPF_STORE || ctx->mem.space != GPUBPF_GLOBAL)
		return 0;
	CHECK(ctx->mem.value[0], 3 * ctx->global_linear + 1);
	CHECK(ctx->mem.bytes, 4);
	return 0;
}

SEC("gpu/mem.all/plain")
int behind(struct gpubpf_ctx *ctx)
{
	return store(ctx);
}

SEC("gpu/mem_before.all/plain")
int before(struct gpubpf_ctx *ctx)
{
	return store(ctx);
}

SEC("gpu/mem.capture/plain")
int captured(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.access != GPUBPF_STORE)
		return 0;
	CHECK(ctx->arg[0], ctx->mem.addr);
	CHECK(ctx->arg[1], 4);
	CHECK(ctx->arg[2], GPUBPF_STORE);
	CHECK(ctx->mem.value[0], 3 * ctx->global_linear + 1);
	return 0;
}
