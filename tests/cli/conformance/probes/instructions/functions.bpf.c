/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls and returns of a device function, without reading its arguments and result. At both places the context
 * provides the function's name.
 */
#include "../../case.h"

EXPECT("workload returns");
EXPECT("needs gpu/call");
EXPECT("needs gpu/call_exit");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("map calls[0] 320");
EXPECT("map returns[0] 320");
EXPECT("checks 1920");

GPUBPF_ARRAY(calls, __u64, 1);
GPUBPF_ARRAY(returns, __u64, 1);

static __always_inline void check_name(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->function_name[0], 't');
	CHECK(ctx->function_name[5], 'e');
	CHECK(ctx->function_name[6], 0);
}

SEC("gpu/call/thrice")
int begins(struct gpubpf_ctx *ctx)
{
	check_name(ctx);
	gpubpf_add(&calls, 0, 1);
	return 0;
}

SEC("gpu/call_exit/thrice")
int ends(struct gpubpf_ctx *ctx)
{
	check_name(ctx);
	gpubpf_add(&returns, 0, 1);
	return 0;
}
