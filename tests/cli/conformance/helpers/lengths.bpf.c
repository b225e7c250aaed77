/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_strnlen() and bpf_strnchr() on the stack and in a map. The texts end before, at and after the last byte that the
 * functions may read, and the sizes differ per lane.
 */
#include "../case.h"

#define ENOENT 2

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 1024");

extern int bpf_strnlen(const char *s, __u64 count) __ksym;
extern int bpf_strnchr(const char *s, __u64 count, char c) __ksym;

struct text {
	char bytes[16];
};
GPUBPF_ARRAY(texts, struct text, 1);

static char constant[16] = "in a map's value";

SEC("gpu/entry/*")
int lengths(struct gpubpf_ctx *ctx)
{
	char text[16] = "abcabc\200z", plain[4] = "abcd";
	__u64 size = ctx->thread_idx[0] & 15;
	struct text *t;
	__u32 zero = 0;

	CHECK(bpf_strnlen(text, sizeof(text)), 8);
	CHECK(bpf_strnlen(text, size), size < 8 ? size : 8);
	CHECK(bpf_strnlen(plain, sizeof(plain)), 4);
	CHECK(bpf_strnchr(text, sizeof(text), 'c'), 2);
	CHECK(bpf_strnchr(text, size, 'c'), size > 2 ? 2 : -ENOENT);
	CHECK(bpf_strnchr(text, sizeof(text), 0), 8);
	CHECK(bpf_strnchr(text, 8, 0), -ENOENT);
	CHECK(bpf_strnchr(text, sizeof(text), '\200'), 6);
	CHECK(bpf_strnchr(text, sizeof(text), 'd'), -ENOENT);
	text[1] = 0;
	CHECK(bpf_strnlen(text, sizeof(text)), 1);
	CHECK(bpf_strnchr(text, sizeof(text), 'b'), -ENOENT);
	CHECK(bpf_strnchr(plain, sizeof(plain), 'd'), 3);
	CHECK(bpf_strnlen(constant, sizeof(constant)), 16);
	CHECK(bpf_strnchr(constant, sizeof(constant), 'e'), 15);
	t = bpf_map_lookup_elem(&texts, &zero);
	if (!t)
		return 0;
	CHECK(bpf_strnlen(t->bytes, size), 0);
	CHECK(bpf_strnchr(t->bytes, size, 'x'), -ENOENT);
	return 0;
}
