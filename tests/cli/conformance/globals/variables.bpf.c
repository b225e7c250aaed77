/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Global variables: .data starts with its initial values, .bss with zeros, .rodata holds its constants. All GPU threads
 * share them.
 */
#include "../case.h"

EXPECT("launch 4,1,1 16,1,1");
EXPECT("checks 256");

const volatile __u64 constant = 0x123456789abcdef0;
const volatile __u32 table[4] = { 10, 20, 30, 40 };
volatile __u64 begun = 99;
__u64 sum;

SEC("gpu/entry/*")
int variables(struct gpubpf_ctx *ctx)
{
	__u32 i = ctx->thread_idx[0] & 3;

	CHECK(constant, 0x123456789abcdef0);
	CHECK(table[i], i * 10 + 10);
	CHECK(begun, 99);
	CHECK(__sync_fetch_and_add(&sum, 1) < 64, 1);
	return 0;
}
