/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_strncmp() on strings that differ, on strings that end early, and with the maximum length. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 7");

SEC("gpu/entry/*")
int strings(struct gpubpf_ctx *ctx)
{
	static const char equal[] = "abcd", less[] = "abcz", more[] = "abca", shorter[] = "abc", longer[] = "abcde";
	char text[8] = "abcd", high[2] = { (char)200, 0 };

	CHECK(bpf_strncmp(text, sizeof(text), equal), 0);
	CHECK(bpf_strncmp(text, sizeof(text), less), -1);
	CHECK(bpf_strncmp(text, sizeof(text), more), 1);
	CHECK(bpf_strncmp(text, sizeof(text), shorter), 1);
	CHECK(bpf_strncmp(text, 3, less), 0);
	CHECK(bpf_strncmp(text, sizeof(text), longer), -1);
	CHECK(bpf_strncmp(high, sizeof(high), equal), 1);
	return 0;
}
