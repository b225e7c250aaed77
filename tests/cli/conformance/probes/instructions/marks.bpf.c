/* SPDX-License-Identifier: Apache-2.0 */
/* A GPUBPF_MARK() in the kernel's source. Each thread executes it once, with its own number as the value. */
#include "../../case.h"

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
