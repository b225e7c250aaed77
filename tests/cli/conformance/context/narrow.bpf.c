/* SPDX-License-Identifier: Apache-2.0 */
/* A narrow load from a context field returns the low bytes of the field. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("alone");
EXPECT("checks 4");

SEC("gpu/entry/*")
int narrow(struct gpubpf_ctx *ctx)
{
	CHECK(*(volatile __u32 *)&ctx->launch, 5);
	CHECK(*(volatile __u16 *)&ctx->launch, 5);
	CHECK(*(volatile __u8 *)&ctx->kernel, 7);
	CHECK(*(volatile __u8 *)&ctx->block_dim[2], 1);
	return 0;
}
