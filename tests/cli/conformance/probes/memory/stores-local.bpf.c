/* SPDX-License-Identifier: Apache-2.0 */
/* A probe at each store to a thread's private memory. */
#include "../../case.h"

EXPECT("workload keeps");
EXPECT("needs gpu/mem.local");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 960");

SEC("gpu/mem.local/keeps")
int access(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.access != GPUBPF_STORE)
		return 0;
	CHECK(ctx->mem.bytes, 4);
	CHECK(ctx->mem.space, GPUBPF_LOCAL);
	CHECK(ctx->mem.count, 1);
	return 0;
}
