/* SPDX-License-Identifier: Apache-2.0 */
/* A mark in the source that each thread executes once, with its own number. */
#include "../case.h"

EXPECT("workload named");
EXPECT("needs gpu/mark");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 320");

SEC("gpu/mark/step")
int step(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->mark, 2 * ctx->global_linear + 5);
	return 0;
}
