/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Context fields of the launch: its number, the kernel and its name. Arguments that the kernel does not have read as 0.
 */
#include "../case.h"

EXPECT("launch 1,1,2 8,1,1");
EXPECT("alone");
EXPECT("checks 160");

SEC("gpu/entry/*")
int kernel(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->launch, 5);
	CHECK(ctx->kernel, 7);
	CHECK(ctx->site, GPUBPF_SITE_ENTRY);
	CHECK(ctx->work_dim, 3);
	CHECK(ctx->nargs, 0);
	CHECK(ctx->arg[0] | ctx->arg[31] | ctx->di | ctx->ax, 0);
	CHECK(ctx->kernel_name[0], 'c');
	CHECK(ctx->kernel_name[10], 'e');
	CHECK(ctx->kernel_name[11], 0);
	CHECK(ctx->global_offset[0] | ctx->global_offset[1] | ctx->global_offset[2], 0);
	return 0;
}
