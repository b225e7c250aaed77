/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_strtol() and bpf_strtoul(): bases, signs, blanks, texts without a number, and numbers that are too large. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 23");

SEC("gpu/entry/*")
int numbers(struct gpubpf_ctx *ctx)
{
	char decimal[] = "  -123x", hex[] = "0x7fG", octal[] = "0178", none[] = "x1", least[] = "-9223372036854775808",
	     most[] = "18446744073709551615", more[] = "18446744073709551616";
	unsigned long u = 1;
	long s = 1;

	CHECK(bpf_strtol(decimal, sizeof(decimal), 10, &s), 6);
	CHECK(s, -123);
	CHECK(bpf_strtol(decimal, 5, 0, &s), 5);
	CHECK(s, -12);
	CHECK(bpf_strtoul(decimal, sizeof(decimal), 10, &u), -22);
	CHECK(bpf_strtoul(hex, sizeof(hex), 0, &u), 4);
	CHECK(u, 127);
	CHECK(bpf_strtoul(hex, sizeof(hex), 16, &u), 4);
	CHECK(u, 127);
	CHECK(bpf_strtoul(hex, sizeof(hex), 10, &u), 1);
	CHECK(u, 0);
	CHECK(bpf_strtoul(octal, sizeof(octal), 0, &u), 3);
	CHECK(u, 15);
	CHECK(bpf_strtol(none, sizeof(none), 10, &s), -22);
	CHECK(bpf_strtol(none + 1, 1, 7, &s), -22);
	CHECK(bpf_strtol(none + 1, 1, 1 << 8, &s), -22);
	CHECK(bpf_strtol(least, sizeof(least), 10, &s), 20);
	CHECK(s, 1ull << 63);
	CHECK(bpf_strtol(least + 1, sizeof(least) - 1, 10, &s), -34);
	CHECK(bpf_strtoul(most, sizeof(most), 10, &u), 20);
	CHECK(u, -1ull);
	CHECK(bpf_strtoul(more, sizeof(more), 10, &u), -34);
	CHECK(bpf_strtol(most, sizeof(most), 10, &s), -34);
	return 0;
}
