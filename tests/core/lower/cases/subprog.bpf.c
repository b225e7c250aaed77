/* SPDX-License-Identifier: Apache-2.0 */
/* Subprograms, nested several deep, that get pointers into their callers' stacks. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sums, __u64, 4);

struct pair {
	__u64 x, y;
};

static __noinline __u64 sum(struct pair *p, __u64 scale)
{
	volatile __u64 local = scale;

	if (!p)
		return 0;
	return (p->x + p->y) * local;
}

static __noinline __u64 twice(struct pair *p)
{
	struct pair mine;

	if (!p)
		return 0;
	mine.x = p->y;
	mine.y = p->x;
	return sum(p, 2) + sum(&mine, 3);
}

SEC("gpu/entry/*")
int subprog(struct gpubpf_ctx *ctx)
{
	struct pair p = { ctx->thread_idx[0], ctx->thread_idx[1] };
	__u32 key = 1;
	__u64 *value = bpf_map_lookup_elem(&sums, &key);

	if (value)
		*value = twice(&p) + sum(&p, 5);
	return 0;
}
