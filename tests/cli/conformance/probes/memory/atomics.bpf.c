/* SPDX-License-Identifier: Apache-2.0 */
/* A probe at an atomic instruction reads its operation, operand, address, and the value in memory before it. */
#include "../../case.h"

EXPECT("workload adds");
EXPECT("needs gpu/atomic");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 2560");

/*
 * The kernel's first argument, a pointer. The entry program stores it, since a place in a called function has no kernel
 * arguments.
 */
GPUBPF_ARRAY(given, __u64, 1);

static __always_inline __u64 first(void)
{
	__u64 *address = bpf_map_lookup_elem(&given, &(__u32){ 0 });

	return address ? *address : 0;
}

SEC("gpu/entry/adds")
int enter(struct gpubpf_ctx *ctx)
{
	__u64 *address = bpf_map_lookup_elem(&given, &(__u32){ 0 });

	if (address)
		*address = ctx->arg[0];
	return 0;
}

SEC("gpu/atomic/adds")
int add(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->atomic.op, GPUBPF_RMW_ADD);
	CHECK(ctx->atomic.operand, 2 * ctx->global_linear + 1);
	CHECK(ctx->atomic.old, ctx->global_linear);
	CHECK(ctx->mem.addr, first() + 4 * ctx->global_linear);
	CHECK(ctx->mem.access, GPUBPF_ATOMIC);
	CHECK(ctx->mem.bytes, 4);
	CHECK(ctx->mem.space, GPUBPF_GLOBAL);
	CHECK(ctx->place, 0);
	return 0;
}
