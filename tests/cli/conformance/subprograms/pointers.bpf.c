/* SPDX-License-Identifier: Apache-2.0 */
/* Subprograms read and write variables of their callers, in all threads at once. */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("checks 256");

struct pair {
	__u64 x, y;
};

static __noinline __u64 sum(struct pair *p, __u64 scale)
{
	volatile __u64 local = scale;

	return p ? (p->x + p->y) * local : 0;
}

static __noinline __u64 swap(struct pair *p)
{
	struct pair mine;

	if (!p)
		return 0;
	mine.x = p->y;
	mine.y = p->x;
	p->x = mine.x;
	p->y = mine.y;
	return sum(&mine, 3);
}

SEC("gpu/entry/*")
int pointers(struct gpubpf_ctx *ctx)
{
	struct pair p = { ctx->global_linear, 1 };
	__u64 me = ctx->global_linear;

	CHECK(swap(&p), (me + 1) * 3);
	CHECK(p.x + (p.y << 32), 1 + (me << 32));
	return 0;
}
