/* SPDX-License-Identifier: Apache-2.0 */
/* Probes before and after each store to global memory read its address, size and value. */
#include "../../case.h"

EXPECT("workload plain");
EXPECT("needs gpu/mem");
EXPECT("needs gpu/mem_before");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("checks 5120");

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

SEC("gpu/entry/plain")
int enter(struct gpubpf_ctx *ctx)
{
	__u64 *address = bpf_map_lookup_elem(&given, &(__u32){ 0 });

	if (address)
		*address = ctx->arg[0];
	return 0;
}

static __always_inline int store(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.access != GPUBPF_STORE)
		return 0;
	CHECK(ctx->mem.addr, first() + 4 * ctx->global_linear);
	CHECK(ctx->mem.offset, ctx->mem.addr);
	CHECK(ctx->mem.value[0], 3 * ctx->global_linear + 1);
	CHECK(ctx->mem.value[1], 0);
	CHECK(ctx->mem.bytes, 4);
	CHECK(ctx->mem.space, GPUBPF_GLOBAL);
	CHECK(ctx->mem.count, 1);
	CHECK(ctx->mem.hint & ~(__u64)GPUBPF_HINT_UNTOLD, 0);
	return 0;
}

SEC("gpu/mem/plain")
int behind(struct gpubpf_ctx *ctx)
{
	return store(ctx);
}

SEC("gpu/mem_before/plain")
int before(struct gpubpf_ctx *ctx)
{
	return store(ctx);
}
