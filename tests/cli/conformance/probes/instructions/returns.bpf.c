/* SPDX-License-Identifier: Apache-2.0 */
/* A called device function: the program at its begin reads the argument, the program at its return reads the result. */
#include "../../case.h"

EXPECT("workload returns");
EXPECT("needs gpu/call");
EXPECT("needs gpu/call_exit");
EXPECT("needs arguments");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 640");

SEC("gpu/call/thrice")
int begins(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->arg[0] & 0xffffffff, ctx->global_linear);
	return 0;
}

SEC("gpu/call_exit/thrice")
int returns(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->result & 0xffffffff, 3 * ctx->global_linear);
	return 0;
}
