/* SPDX-License-Identifier: Apache-2.0 */
/* A probe at each load from constant memory. */
#include "../../case.h"

EXPECT("workload consts");
EXPECT("needs constants");
EXPECT("needs gpu/mem.const");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 4*THREADS");

SEC("gpu/mem.const/consts")
int load(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->mem.access, GPUBPF_LOAD);
	CHECK(ctx->mem.space, GPUBPF_CONSTANT);
	CHECK(ctx->mem.bytes, 4);
	CHECK(ctx->mem.count, 1);
	return 0;
}
