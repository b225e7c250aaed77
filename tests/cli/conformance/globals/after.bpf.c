/* SPDX-License-Identifier: Apache-2.0 */
/* A program reads the value of a variable that the previous program wrote. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 3");

__u64 zero;
__u64 words[3] = { 1, 2, 3 };
struct { __u16 a; __u8 b; } parts = { 0x1234, 0x56 };

SEC("gpu/entry/*")
int store(struct gpubpf_ctx *ctx)
{
	*(volatile __u64 *)&zero = 5;
	*(volatile __u64 *)&words[2] = words[0] + words[1] + words[2];
	*(volatile __u8 *)&parts.b = 0x78;
	return 0;
}

SEC("gpu/entry/*")
int load(struct gpubpf_ctx *ctx)
{
	CHECK(*(volatile __u64 *)&zero, 5);
	CHECK(*(volatile __u64 *)&words[2], 6);
	CHECK(*(volatile __u16 *)&parts.a << 8 | *(volatile __u8 *)&parts.b, 0x123478);
	return 0;
}
