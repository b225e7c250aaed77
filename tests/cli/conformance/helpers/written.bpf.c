/* SPDX-License-Identifier: Apache-2.0 */
/* BPF_SNPRINTF(): each conversion, flags and widths, twelve values, and texts that are longer than the memory. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 16");

static __always_inline __u64 same(const char *a, const char *b, int n)
{
	__u64 differs = 0;
	int i;

	bpf_for(i, 0, n) differs |= a[i & 63] != b[i & 63];
	return !differs;
}

#define WRITE(want, fmt, args...) ({ \
	static const char expected[64] = want; \
	__builtin_memset(text, 'z', sizeof(text)); \
	CHECK(BPF_SNPRINTF(text, sizeof(text), fmt, args), sizeof(want)); \
	CHECK(same(text, expected, 64), 1); \
})

SEC("gpu/entry/*")
int written(struct gpubpf_ctx *ctx)
{
	char text[64];
	__u64 n = ctx->block_dim[0];

	WRITE("1 -5 4294967291 fffffffb", "%d %i %u %x", n, -5, -5, -5);
	WRITE("-1 18446744073709551615 ffffffffffffffff", "%lld %llu %lx", -n, -n, -n);
	WRITE("    7|7    |00007|+7| 7|-0007", "%5d|%-5d|%05d|%+d|% d|%05d", 7, 7, 7, 7, 7, -7);
	WRITE("0XFF 0xff 0x10 c %", "%#X %#x %p %c %%", 255, 255, 16, 'c');
	WRITE("1 2 3 4 5 6 7 8 9 10 11 12", "%d %d %d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	WRITE("0 -9223372036854775808", "%d %lld", 0, 1ull << 63);
	CHECK(BPF_SNPRINTF(text, 4, "%d", 123456), 7);
	CHECK(text[0] == '1' && text[1] == '2' && text[2] == '3' && text[3] == 0, 1);
	CHECK(BPF_SNPRINTF(text, 1, "%d", 123456), 7);
	CHECK(text[0], 0);
	return 0;
}
