/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of each width, and atomic operations, in the data. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 1,1,1 WARP,1,1");
EXPECT("data 64");
EXPECT("word 0 0x1122334455667788");
EXPECT("word 1 0xff01");
EXPECT("word 2 THREADS");
EXPECT("word 3 THREADS");
EXPECT("word 4 0x80000004");
EXPECT("word 5 5");
EXPECT("checks 6");

static __always_inline void widths(void)
{
	__u8 *byte = gpubpf_data(8, 8);
	__u64 *wide = gpubpf_data(0, 8);
	__u32 *half;

	if (!byte || !wide)
		return;
	CHECK(byte[0], 1);
	byte[1] = 0xff;
	CHECK(*(volatile __u16 *)byte, 0xff01);
	CHECK(*(volatile __s8 *)(byte + 1), -1);
	*wide = 0x1122334455667788;
	half = gpubpf_data(4, 4);
	CHECK(half ? *half : 0, 0x11223344);
	half = gpubpf_data(32, 4);
	if (half)
		CHECK(__sync_fetch_and_or(half, 0x80000000), 4);
	CHECK(byte[7], 0);
}

SEC("gpu/run/bytes")
int bytes(struct gpubpf_ctx *ctx)
{
	__u64 *count = gpubpf_data(16, 8);
	__u32 *narrow = gpubpf_data(24, 4);

	if (!ctx->global_linear) {
		widths();
		if (count)
			__sync_fetch_and_add(count, -2);
		if (narrow)
			__sync_fetch_and_add(narrow, -3);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	if (narrow)
		__sync_fetch_and_add(narrow, 1);
	return 0;
}
