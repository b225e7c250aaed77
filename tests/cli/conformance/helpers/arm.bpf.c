/* SPDX-License-Identifier: Apache-2.0 */
/* A request to arm a program is one more than the number of launches, which is limited to 32 bits. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
/* an application's first launches are unprobed until the twin without `other`, which is disarmed, is built */
EXPECT("alone");
EXPECT("checks 8");

GPUBPF_ARMS(other);

static __always_inline __u64 request(void)
{
	__u64 *n = bpf_map_lookup_elem(&arm_other, &(__u32){ 0 });

	return n ? *n : ~0ull;
}

SEC("gpu/entry/*")
int arm(struct gpubpf_ctx *ctx)
{
	CHECK(request(), 0);
	CHECK(gpubpf_arm(other, 3), 0);
	CHECK(request(), 4);
	CHECK(gpubpf_disarm(other), 0);
	CHECK(request(), 1);
	CHECK(gpubpf_arm(other, ctx->launch - 1), 0);
	CHECK(request(), ctx->launch ? ctx->launch : 0x100000000ull);
	CHECK(gpubpf_arm(other, 1), 0);
	return 0;
}

SEC("gpu/entry/*")
int other(struct gpubpf_ctx *ctx)
{
	return 0;
}
